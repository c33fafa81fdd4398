r"""Exact cross-validation over any splits, from sums of products: after them nothing grows with m.

For a split with training part and test part let K = X'X over the training rows, centred there,
and let D hold the same products over the test rows, centred with the *training* means. With the
letters of ``state.py`` on the training part (t = Z'x, pivot = alpha + s) and, on the test rows,

    d_i   what is left of column i after regression on the chosen features, training coefficients
    e     what is left of the target

a candidate changes e to e - omega d_i with omega = c_i / pivot_i, so that its test error is
e'e - 2 omega e'd_i + omega^2 d_i'd_i: three numbers per candidate and split. Choosing b changes
them by rank one. With u = t_new / sqrt(pivot_b), so that d_i becomes d_i - u_i d_b,

    d_b'd_i = x_i'd_b - sum_l (d_b'd_l) u_l,i        x_i'd_b = D_i,b - sum_l (x_i'd_l) u_l,b

where l runs over the features chosen before: O(n |S|) per split and step.

The columns K_b and D_b of a chosen feature come from Gram matrices per split, or, where those
would be larger than the data, from one product X'V per step, V holding x_b on each part in turn.
"""

import copy
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats
from sparsepath.errors import InputError
from sparsepath.rls.design import Design
from sparsepath.rls.splits import Split, overlap, standard_error
from sparsepath.rls.update import Costs, Update, pick

COLLINEAR = 1e-12  # part of a column's square that is left, from which it counts as nothing
VANISHED = 1e-13  # part of the target's squares that is no more than rounding in such sums
GRAM_NUMBERS = 1 << 25  # numbers in the Gram matrices of all parts that are always affordable
ROWS_AT_ONCE = 4096


class FoldModel:
    """A model on a growing and shrinking set of features, judged by its error on test parts.

    Parameters
    ----------
    design : Design
        The data.
    Y : array of shape (m, T)
        Targets.
    alpha : float
        The ridge penalty, zero or more.
    splits : sequence of (train, test) index arrays
        As a scikit-learn splitter yields them.
    pooled : bool
        False: the mean over splits of the mean squared error on the test part, as
        ``cross_val_score`` has it. True: all squared errors over all test rows.
    sums : SplitSums, optional
        The sums of products, if they are known: they serve every penalty.
    """

    def __init__(
        self,
        design: Design,
        Y: Floats,
        alpha: float,
        splits: Sequence[Split],
        pooled: bool = False,
        sums: "SplitSums | None" = None,
    ) -> None:
        self.design, self.alpha, self.pooled = design, float(alpha), pooled
        self.costs: Costs | None = None
        self.sums = SplitSums(design, Y, splits) if sums is None else sums
        self._reset()
        self.empty_error = self.error

    def _reset(self) -> None:
        """The empty model."""
        sums = self.sums
        n, F = self.design.n_features, sums.n_splits
        test, train = slice(0, F), slice(F, 2 * F)
        w = sums.weight
        center = self.design.fit_intercept
        self._mu = sums.x[train] / w[train, None] if center else np.zeros((F, n))
        nu = sums.y[train] / w[train, None] if center else np.zeros((F, sums.y.shape[1]))
        self._nu = nu
        self._share = np.full(F, w[test].sum()) if self.pooled else w[test] * F
        mu, x, y = self._mu, sums.x[test], sums.y[test]

        def outer(a: Floats, b: Floats) -> Floats:
            return a[:, :, None] * b[:, None]

        self.s = sums.squares[train] - w[train, None] * mu**2
        self._size = np.maximum(sums.squares[train], 0.0)
        self.c = sums.xy[train] - w[train, None, None] * outer(mu, nu)
        self.dd = sums.squares[test] - 2 * mu * x + w[test, None] * mu**2
        self.ed = sums.xy[test] - outer(mu, y) - outer(x, nu) + w[test, None, None] * outer(mu, nu)
        self.sse = (sums.yy[test] - 2 * nu * y + w[test, None] * nu**2).sum(1)
        self._c0, self._ed0, self._sse0 = self.c, self.ed, self.sse
        self.chosen: list[int] = []
        self._U = np.zeros((F, n, 0))
        self._H = np.zeros((F, n, 0))
        self._rho2 = np.zeros((F, 0))
        self._DD = np.zeros((F, 0, 0))
        self._K = np.zeros((F, 0, 0))
        self._D = np.zeros((F, 0, 0))
        self._all = np.zeros((n, 0))

    # What a search asks -------------------------------------------------------------------------

    @property
    def fold_errors(self) -> Floats:
        """Mean squared error on each test part."""
        return self.sse / self.sums.weight[: self.sums.n_splits]

    @property
    def error(self) -> float:
        return float((self.sse / self._share).sum())

    @property
    def vanished(self) -> bool:
        return bool(self.sse.sum() <= VANISHED * self._sse0.sum())

    def standard_error(self) -> float:
        """Standard error of the mean over splits (see ``splits.py``); NaN for a single one."""
        return standard_error(self.fold_errors, self.sums.overlap)

    def find_best_update(
        self, action: str = "add", features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """The best single addition or removal; see ``State.find_best_update``."""
        if action == "add":
            allowed = ~self.design.constant
            if features is not None:
                allowed = allowed & np.isin(np.arange(len(allowed)), list(features))
            allowed[self.chosen] = False
            which = np.flatnonzero(allowed)
            errors = self.errors_with()[which]
            worth = None if self.costs is None else self.costs.worth(which, errors, self.error)
            return pick("add", which, errors, self.empty_error, worth)
        which = np.array(self.chosen, dtype=np.intp)
        keep = slice(None) if features is None else np.isin(which, list(features))
        return pick("drop", which[keep], self.errors_without()[keep], self.empty_error)

    def apply_update(self, update: Update) -> None:
        """Add or drop a feature."""
        if update.action == "add":
            self.add(update.feature)
        else:
            self.drop(update.feature)

    def duplicate(self) -> Self:
        """A copy to try changes on; arrays are shared until they change."""
        return copy.copy(self)

    def errors_with(self) -> Floats:
        """The criterion with each feature added; infinite where it is collinear in some split."""
        pivots = self.s + self.alpha
        fine = pivots > COLLINEAR * self._size
        omega = self.c / np.where(fine, pivots, 1.0)[:, :, None]
        change = np.einsum("fit,fit->fi", omega, omega * self.dd[:, :, None] - 2 * self.ed)
        errors = ((self.sse[:, None] + change) / self._share[:, None]).sum(0)
        return np.where(fine.all(0), errors, np.inf)

    def add(self, b: int) -> None:
        """Add a feature."""
        if b in self.chosen:
            raise InputError(f"feature {b} is chosen already.")
        K, D, everywhere = self._columns(b)
        U, H = self._U, self._H
        pivot = self.s[:, b] + self.alpha
        if np.any(pivot <= COLLINEAR * self._size[:, b]):
            raise InputError(f"feature {b} is collinear with the chosen ones.")
        u_b = U[:, b]
        self._u = u = (K - _times(U, u_b * self._rho2)) / pivot[:, None]
        x_d = D - _times(H, u_b)
        d_l = H[:, b] - _times(self._DD, u_b)
        g = x_d - _times(U, d_l)
        d_bb = self.dd[:, b].copy()
        self._omega = omega = self.c[:, b] / pivot[:, None]
        e_b = self.ed[:, b].copy()
        c_b = self.c[:, b].copy()

        self.sse = np.maximum(self.sse + (omega * (omega * d_bb[:, None] - 2 * e_b)).sum(1), 0.0)
        self.ed = (
            self.ed
            - u[:, :, None] * (e_b - omega * d_bb[:, None])[:, None]
            - g[:, :, None] * omega[:, None]
        )
        self.dd = self.dd + u * (u * d_bb[:, None] - 2 * g)
        self.s = self.s - u * u * pivot[:, None]
        self.c = self.c - u[:, :, None] * c_b[:, None]
        self._U = np.concatenate([U, u[:, :, None]], axis=2)
        self._H = np.concatenate([H, x_d[:, :, None]], axis=2)
        self._rho2 = np.concatenate([self._rho2, pivot[:, None]], axis=1)
        self._all = np.concatenate([self._all, everywhere[:, None]], axis=1)
        self.chosen = [*self.chosen, int(b)]
        self._DD = _bordered(self._DD, np.concatenate([d_l, d_bb[:, None]], axis=1))
        self._K = _bordered(self._K, K[:, self.chosen])
        self._D = _bordered(self._D, D[:, self.chosen])

    def _columns(self, b: int) -> tuple[Floats, Floats, Floats]:
        """K_b, D_b of every split, and the column over all rows."""
        sums, mu = self.sums, self._mu
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

    def errors_without(self) -> Floats:
        """The criterion with each chosen feature dropped, in the order of ``chosen``.

        From the sums over the chosen features alone: dropping b changes the coefficients
        w = A^-1 c to w - (A^-1)_b w_b / (A^-1)_bb, and the test error is quadratic in them.
        """
        W = self._coefficients_without()
        DW = np.einsum("fij,fjbt->fibt", self._D, W) - 2 * self._ed0[:, self.chosen][:, :, None]
        sse = self._sse0[:, None] + np.einsum("fibt,fibt->fb", W, DW)
        return (sse / self._share[:, None]).sum(0)

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
        others = [i for i in self.chosen if i != b]
        self._reset()
        for i in others:
            self.add(i)

    # The model on all rows ----------------------------------------------------------------------

    def coef(self) -> Floats:
        """Coefficients of the chosen features in the units of the data, |S| x T."""
        S = self.chosen
        if not S:
            return np.zeros((0, self.sums.y.shape[1]))
        A = self._all[S] + self.alpha * np.eye(len(S))
        c = self.sums.xy[-1][S]
        if self.design.fit_intercept:
            c = c - np.outer(self.sums.x[-1][S], self.sums.y[-1]) / self.sums.weight[-1]
        root = np.sqrt(np.diag(A))[:, None]
        return self.design.scales[S, None] * (np.linalg.solve(A / root / root.T, c / root) / root)

    def intercept(self) -> Floats:
        """The constant term, one per target."""
        return self.sums.y_mean - self.design.means[self.chosen] @ self.coef()


def _times(A: Floats, x: Floats) -> Floats:
    """A x, split by split."""
    return (A @ x[:, :, None])[:, :, 0]


def _covers(parts: Sequence[NDArray[np.intp]], m: int) -> bool:
    """Whether the parts hold each of m rows once."""
    return sum(map(len, parts)) == m and bool(np.all(np.bincount(np.concatenate(parts)) == 1))


def _bordered(A: Floats, last: Floats) -> Floats:
    """Symmetric matrices with one more row and column, split by split."""
    F, k = last.shape
    out = np.empty((F, k, k))
    out[:, : k - 1, : k - 1] = A
    out[:, -1] = out[:, :, -1] = last
    return out


class SplitSums:
    """Weighted sums of products over parts of the rows, of columns that are centred over all rows.

    Every array has one entry per part: the F test parts, the F training parts, all rows.

    Attributes
    ----------
    weight : array of shape (2F + 1,)
    x, squares : arrays of shape (2F + 1, n)
    y, yy : arrays of shape (2F + 1, T)
    xy : array of shape (2F + 1, n, T)
    """

    def __init__(self, design: Design, Y: Floats, splits: Sequence[Split]) -> None:
        self._design = design
        m, n = design.n_samples, design.n_features
        w = design.weights
        everyone = np.arange(m)
        pairs = [(everyone[np.asarray(a)], everyone[np.asarray(b)]) for a, b in splits]
        pairs = [(a, b) for a, b in pairs if self._weight(b) > 0]
        if not pairs or any(self._weight(a) <= 0 for a, _ in pairs):
            raise InputError(f"cv must yield parts with {self._needed}, train and test.")
        self.n_splits = len(pairs)
        self.pairs = pairs
        tests = [test for _, test in pairs]
        self.overlap = overlap(tests, w)
        # What is had by subtraction or addition is not summed again.
        self._complement = [_covers([a, b], m) and self._adds_up([a, b]) for a, b in pairs]
        self._partition = _covers(tests, m) and self._adds_up(tests)
        self._parts = tests + [
            train for (train, _), known in zip(pairs, self._complement, strict=True) if not known
        ]
        if not self._partition:
            self._parts.append(np.arange(m))

        self.y_mean = (w @ Y) / design.total if design.fit_intercept else np.zeros(Y.shape[1])
        self._right = np.hstack([Y - self.y_mean, np.ones((m, 1))])
        self._gram: Floats | None = None
        if n * n * len(self._parts) <= max(GRAM_NUMBERS, m * n // 2):
            products = np.stack(design.threads.map(self._products, self._parts))
            self._gram = products[:, :n, :n]
            right = self._all_parts(products[:, n:])
            self.squares = self._all_parts(np.einsum("fii->fi", self._gram))
            left, right = right[:, :, :n], right[:, :, n:]
        else:
            left = self._all_parts(self._dot(self._masked(self._right)))
            squares = [self._spread(part) for part in self._parts]
            self.squares = self._all_parts(np.stack(squares))
            beside = [self._right[p].T @ self._ready(self._right, p) for p in self._parts]
            right = self._all_parts(np.stack(beside))
        self.x, self.xy = left[:, -1], left[:, :-1].transpose(0, 2, 1)
        self.weight, self.y = right[:, -1, -1], right[:, -1, :-1]
        self.yy = np.einsum("ftt->ft", right[:, :-1, :-1])

    # What a part is: rows with their weights (``queries.py`` has another answer) -----------------

    _needed = "samples of positive weight"

    def _weight(self, part: NDArray[np.intp]) -> float:
        """What a part counts."""
        return float(self._design.weights[part].sum())

    def _adds_up(self, parts: Sequence[NDArray[np.intp]]) -> bool:
        """Whether sums over these parts add up to sums over all rows, which they cover."""
        return True

    def _ready(self, V: Floats, part: NDArray[np.intp]) -> Floats:
        """Rows of V such that products with them are the weighted sums over a part."""
        return self._design.weights[part, None] * V[part]

    def _spread(self, part: NDArray[np.intp]) -> Floats:
        """The squares of all columns over a part."""
        return self._design.spread(part)

    def _products(self, part: NDArray[np.intp]) -> Floats:
        """All products of the columns, the targets and one over a part."""
        design = self._design
        out = np.zeros((design.n_features + self._right.shape[1],) * 2)
        for some in np.split(part, range(ROWS_AT_ONCE, len(part), ROWS_AT_ONCE)):
            joined = np.hstack([design.rows(some), self._right[some]])
            joined *= np.sqrt(design.weights[some, None])
            out += joined.T @ joined
        return out

    # Sums over all parts ------------------------------------------------------------------------

    def column(self, i: int) -> Floats:
        """Products of all columns with column i over every part: (2F + 1) x n."""
        if self._gram is not None:
            return self._all_parts(self._gram[:, i])
        x = self._design.column(i)[:, None]
        return self._all_parts(self._dot(self._masked(x))[:, 0])

    def _all_parts(self, sums: Floats) -> Floats:
        """Sums over all 2F + 1 parts, from those over the parts that were summed."""
        F = self.n_splits
        everywhere = sums[:F].sum(0) if self._partition else sums[-1]
        summed = iter(sums[F:])
        trains = [
            everywhere - test if known else next(summed)
            for test, known in zip(sums[:F], self._complement, strict=True)
        ]
        return np.concatenate([sums[:F], np.stack(trains), everywhere[None]])

    def _masked(self, V: Floats) -> Floats:
        """V, weighted, on each part in turn and zero elsewhere: m x (parts * columns of V)."""
        out = np.zeros((len(self._parts), *V.shape))
        for masked, part in zip(out, self._parts, strict=True):
            np.add.at(masked, part, self._ready(V, part))
        return np.concatenate(list(out), axis=1)

    def _dot(self, V: Floats) -> Floats:
        """X'V as parts x columns of V x n, the columns of X as they stand."""
        design = self._design
        pairs = list(zip(design.blocks, design.slices, strict=True))
        products = sum(design.threads.map(lambda pair: pair[0].dot(V[pair[1]]), pairs))
        products = design.scales[:, None] * (products - np.outer(design.means, V.sum(0)))
        return products.T.reshape(len(self._parts), -1, design.n_features)
