"""What lives with a block of rows: the model fitted so far, and the candidates at hand.

The driver (``model.py``) never sees a vector of length m. It asks each block for a few sums, adds
them up and sends small things back: coefficients of candidates, never columns. The same driver
serves one block in memory, many blocks on threads, and blocks that live elsewhere. The letters are
those of ``model.py``; W holds the candidates at hand, z in its derivation.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.losses import ROOM
from sparsepath.rls.leave_one_out.fitted_rows import SCORED_ROWS, FittedRows

MANY_CANDIDATES = 8  # candidates from which a product of matrices is faster than the compiled loop


class Rows(FittedRows):
    """The rows of a fitted model that load, hold, project and judge candidates."""

    def load(
        self,
        features: NDArray[np.intp],
        means: Floats,
        scales: Floats,
        out: Floats | None = None,
    ) -> None:
        """Take the columns of some candidates into W, or into memory of the caller's."""
        room = self._room(len(features)) if out is None else out
        self.W = self._taken(features, means, scales, room)

    def load_overlaps(self, features: NDArray[np.intp], means: Floats, scales: Floats) -> Floats:
        """Z'W for the columns of some candidates, taken into W."""
        self.load(features, means, scales)
        return self.Z.T @ self.W

    def load_project(
        self, features: NDArray[np.intp], means: Floats, scales: Floats, t: Floats
    ) -> tuple[Floats, Floats]:
        """The same columns less Z t, in place; their squared norms and products with r."""
        self.load(features, means, scales)
        return self._project(self.W, t)

    def loaded_squares(self) -> Floats:
        """W'W."""
        return self.W.T @ self.W

    def hold(self, feature: NDArray[np.intp], mean: Floats, scale: Floats) -> None:
        """Take the column w of one candidate, to be judged and perhaps added."""
        self._taken(feature, mean, scale, self.held[:, None])

    def hold_overlaps(self, feature: NDArray[np.intp], mean: Floats, scale: Floats) -> Floats:
        """Z'w for the column of one candidate, which is held from now on."""
        self.hold(feature, mean, scale)
        return self.held_overlaps()

    def held_overlaps(self) -> Floats:
        """Z'w for the candidate held."""
        return self.overlaps(self.held)

    def hold_less(
        self,
        feature: NDArray[np.intp],
        mean: Floats,
        scale: Floats,
        t: Floats,
        columns: NDArray[np.intp],
    ) -> tuple[Floats, Floats, Floats]:
        """Hold a candidate less Z t (see ``take_off``); also X'(g u) for some columns."""
        self.hold(feature, mean, scale)
        return *self.take_off(t), self.column_products(columns)

    def ahead(self, columns: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Z'u, and X'(g u) for some columns."""
        return self.overlaps_u(), self.column_products(columns)

    def raw_overlaps(self, feature: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Z'x for a column as it is in the data, and Z'g."""
        return self.overlaps(self.block.columns(feature, self.held[:, None])[:, 0]), self.totals

    def take_off(self, t: Floats) -> tuple[Floats, Floats]:
        """Take Z t off w, the candidate held; return Z'u and [w'w, w'r, w'Z mixture]."""
        from sparsepath.rls.leave_one_out.compiled import take_off_one

        out = np.empty(self.size)
        r = self.r[:, 0]
        u = self.u[:, 0] if self._squared else r  # other losses have no u, and do not ask for it
        return out, np.array(take_off_one(self.Z.T, t, self.held, u, r, self._mixed, out))

    def _taken(
        self, features: NDArray[np.intp], means: Floats, scales: Floats, out: Floats
    ) -> Floats:
        self.block.columns(features, out)
        out -= means
        left = self._left[features]
        if left.any():
            out -= left
        if not self.even:
            out *= self.g[:, None]
        if not np.all(scales == 1.0):
            out *= scales
        return out

    def _room(self, width: int) -> Floats:
        """Space for some candidates, used again and again: fresh memory is slow."""
        if self._space.shape[1] < width:
            self._space = np.empty((len(self.g), width), order="F")
        return self._space[:, :width]

    def project_held(self, t: Floats) -> tuple[Floats, Floats]:
        """The candidate held less Z t, in place; its squared norm and products with r."""
        return self._project(self.held[:, None], t[:, None])

    def _project(self, W: Floats, t: Floats) -> tuple[Floats, Floats]:
        if self._large and W.shape[1] < MANY_CANDIDATES:
            from sparsepath.rls.leave_one_out.compiled import take_off

            squares, across = np.empty(W.shape[1]), np.empty((W.shape[1], self.r.shape[1]))
            take_off(self.Z.T, t, W.T, self.r.T, squares, across)
            return squares, across
        for i in range(0, len(W) if self.size else 0, SCORED_ROWS):
            part = slice(i, i + SCORED_ROWS)
            W[part].T[...] -= t.T @ self.Z[part].T  # so that the product is in the order of W
        return np.einsum("ij,ij->j", W, W), W.T @ self.r

    def score_held(
        self, pivots: Floats, tau: Floats, blur: Any = 0.0, squared: bool = False
    ) -> Floats:
        """This block's share of the criterion with the candidate held added."""
        return self._score(self.held[:, None], pivots, tau, blur, squared)

    def score(self, pivots: Floats, tau: Floats, blur: Any = 0.0, squared: bool = False) -> Floats:
        """This block's share of the criterion with each candidate of W added."""
        return self._score(self.W, pivots, tau, blur, squared)

    def _score(self, W: Floats, pivots: Floats, tau: Floats, blur: Any, squared: bool) -> Floats:
        """This block's share of the criterion with each column of W added.

        Adding z changes r to r - z tau and p to p - z^2 / pivot (tau is c x T). Infinite where a
        leverage reaches one. ``squared`` asks for the squared criterion, whatever the loss.
        """
        out = np.zeros(len(pivots))
        if self._squared or (squared and self.is_compiled):
            from sparsepath.rls.leave_one_out.compiled import sum_squares

            inverse, steps = 1.0 / pivots, np.ascontiguousarray(tau[:, 0])
            sum_squares(W.T, self.r[:, 0], self.p, self.share, steps, inverse, ROOM, out)
            return out
        full = np.zeros(len(pivots), dtype=bool)
        for i in range(0, len(self.g), SCORED_ROWS):
            part = slice(i, i + SCORED_ROWS)
            z = W[part]
            p = z * z
            p *= -1.0 / pivots
            p += self.p[part, None]
            tight = p.min(axis=0) <= ROOM
            if tight.any():
                full |= tight
                np.maximum(p, ROOM, out=p)
            residuals = []
            for r, coefficients in zip(self.r.T, tau.T, strict=True):
                e = z * -coefficients
                e += r[part, None]
                residuals.append(e)
            loss, vectors = self._given(part, squared)
            out += loss.total(residuals, p, *vectors, blur)
        out[full] = np.inf
        return out

    def score_without(
        self, directions: Floats, tau: Floats, blur: Any = 0.0, squared: bool = False
    ) -> Floats:
        """This block's share of the criterion with each of some features dropped."""
        self.W = self._room(len(tau))
        np.matmul(directions.T, self.Z.T, out=self.W.T)
        return self.score(np.full(len(tau), -1.0), tau, blur, squared)

    def score_all(self, G: Floats, tau: Floats, blur: float = 0.0, squared: bool = False) -> float:
        """This block's share of the criterion with all candidates of W added at once."""
        p = self.p - np.square(self.W @ G).sum(1)
        return self._score_one(p, self.r - self.W @ tau, blur, squared)

    def score_without_all(
        self, directions: Floats, tau: Floats, blur: float = 0.0, squared: bool = False
    ) -> float:
        """This block's share of the criterion with several features dropped at once."""
        q = self.Z @ directions
        return self._score_one(self.p + np.square(q).sum(1), self.r - q @ tau, blur, squared)

    def score_squared(self) -> float:
        """This block's share of the squared criterion of the model as it stands."""
        return self._score_one(self.p, self.r, 0.0, True)

    def _score_one(self, p: Floats, r: Floats, blur: float, squared: bool) -> float:
        if p.min() <= ROOM:
            return np.inf
        loss, vectors = self._given(slice(None), squared)
        return float(loss.weighted(list(r.T.copy()), p, *vectors, blur).sum())
