r"""Minimise the criterion over a working set of features: proximal Newton steps.

At the point (W, b) with outputs F the loss term is replaced by its second-order expansion.
Coordinate descent finds the step (D, d) that minimises it with the penalties. The step is halved
until the criterion decreases enough. Two facts make this fast and exact:

* the *gradient* is always computed in double precision, so the steps converge to the optimum
  whatever matrix is used for the second derivatives. That matrix may thus be outdated: it is
  rebuilt only if the steps converge slowly or the curvatures have changed (:class:`GramEngine`);
* the intercept is eliminated: its best step is d = -(beta + c'D) / sum(h), with h the curvatures,
  beta = sum of the slopes and c = Z'h, which replaces H by H - c c'/sum(h) and needs no sweeps.

An engine keeps its point from call to call, so that a path or a one-at-a-time procedure continues
from there. Dense columns: coordinate descent on the matrix Z'hZ of the working set. Sparse columns:
on the columns themselves. Softmax: groups of weights, one per class.
"""

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import grafting as core
from sparsepath.grafting.criterion import (
    ConvexLoss,
    Expansion,
    Penalty,
    best_intercept,
    duality_gap,
    orthogonal,
    violations,
)
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.screening import GradientBounds
from sparsepath.grafting.steps import Indices, minimise
from sparsepath.system.arrays import Floats

INNER = 0.1  # part of the present violation to which a sub-problem is solved;
INNER_GRAM = 0.01  # that with the matrix at hand, where passes are cheap
ARMIJO = 1e-4  # part of the predicted decrease that must be had
ROUNDING_OF_FALL = 1e-13  # relative decreases below this cannot be told from rounding
MOST_NEWTON_STEPS = 200
MOST_STALE = 6  # steps in a row that do not halve the violation
MOST_PASSES = 1000
CRAWLS = 100  # passes after which sparse columns, if they are not more than
FEW_FOR_MATRIX = 2000  # these, are given the matrix of second derivatives


class Engine:
    """A point (W, b, F), and methods that improve it on a working set; see the module docstring.

    Attributes
    ----------
    W, b, F : arrays of shape (n, K), (K,), (m, K)
    steps : int
        Newton steps made so far.
    greed : int
        How many features may enter for each one that is in use.
    part : float
        Fraction of the current violation to which a working set is optimised before other features
        are examined.
    null_loss : float
        The mean loss of the empty model.
    known_gradient : GradientBounds
        The gradient where it was last requested.
    """

    greed = 1
    part = 0.1

    def __init__(self, design: GraftingDesign, Y: Floats, loss: ConvexLoss) -> None:
        self.design = design
        self.Y = Y
        self.s = design.s
        self.loss = loss
        self.steps = 0
        self._free: NDArray[np.bool_] | slice = slice(None)  # of the features that are held
        self.known_gradient = GradientBounds(design)
        self._expanded: tuple[Floats, Expansion] | None = None  # outputs, and the loss there
        K = Y.shape[1]
        self.W = np.zeros((design.n, K))
        self.b = loss.start(Y, self.s) if design.fit_intercept else np.zeros(K)
        self.F = np.tile(self.b, (design.m, 1))
        self.settle_intercept()
        self.null_loss = self.loss_term()

    def settle_intercept(self) -> None:
        """Optimise the intercepts for the current weights."""
        if self.design.fit_intercept:
            change = best_intercept(self.loss, self.F, self.Y, self.s)
            self.b = self.b + change
            self.F = self.F + change

    def move_to(self, W: Floats, b: Floats, F: Floats | None = None) -> None:
        """Go to another point."""
        self.W, self.b = W.copy(), b.copy()
        self.F = self.design.outputs(W, b) if F is None else F.copy()

    @property
    def expansion(self) -> Expansion:
        """The loss at the current outputs; these are replaced, never changed in place."""
        if self._expanded is None or self._expanded[0] is not self.F:
            self._expanded = self.F, self.loss.expansion(self.F, self.Y)
        return self._expanded[1]

    def slopes(self) -> Floats:
        """Derivatives of the loss term in the outputs: s_i L'(F_i), m x K."""
        return self.expansion.slope * self.s[:, None]

    def curvatures(self) -> Floats:
        """Second derivatives of the loss term in the outputs, for one output: s_i L''(F_i)."""
        return self.expansion.curvature[:, 0] * self.s

    def gradient(self) -> Floats:
        """Derivatives of the loss term in all weights, n x K."""
        found = self.design.products(self.slopes())
        self.known_gradient.set(found, self.expansion.slope)
        return found

    def gradient_for(self, penalty: Penalty) -> Floats:
        """Return the gradient; outdated entries where a bound proves that zero weights are
        optimal.
        """
        return self.known_gradient.at(self.expansion.slope, self.W, penalty)

    def loss_term(self) -> float:
        """The mean loss."""
        return float(self.s @ self.expansion.value)

    def slope_sums(self) -> tuple[Floats, float]:
        """The sums of the slopes, one per output, and of their sizes."""
        slopes = self.slopes()
        return slopes.sum(0), float(np.abs(slopes).sum())

    def gap(self, penalty: Penalty, gradient: Floats, usable: NDArray[np.bool_]) -> float:
        """The duality gap of a penalty without L0.

        Where weights carry no penalty the slopes are first made orthogonal to their columns.
        """
        U = self.expansion.slope
        bare = np.flatnonzero(usable & (penalty.l1 == 0) & (penalty.l2 == 0))
        if len(bare):
            Z = self.design.columns(bare)
            if self.design.fit_intercept:
                Z = np.column_stack([Z, np.ones(len(Z))])
            U = orthogonal(U, Z, self.s)
            gradient = self.design.products(U * self.s[:, None])
            gradient[bare] = 0.0
        return duality_gap(
            self.loss, self.loss_term(), U, self.Y, self.s, penalty, self.W, gradient, usable
        )

    def optimise(self, features: Indices, penalty: Penalty, tol: float) -> float:
        """Minimise over the weights of ``features`` and the intercepts; L0 plays no part.

        Parameters
        ----------
        features : array of int
            The features that are free; all others keep their weights.
        penalty : Penalty
            Of all features.
        tol : float
            The violation of optimality to reach.

        Returns
        -------
        float
            The largest violation left among the features and the intercepts.
        """
        if not len(features):
            self.settle_intercept()
            return 0.0
        features = self._prepare(features)
        local = Penalty(penalty.l1[features], penalty.l2[features], np.zeros(len(features)))
        best, stale = np.inf, 0
        kept = (self.W[features], self.b, self.F)
        loss = self.loss_term()
        for _ in range(MOST_NEWTON_STEPS):
            q, beta = self._derivatives()
            w = self.W[features]
            left = violations(q, w, local)[self._free]
            violation = max(float(left.max()), float(np.abs(beta).max()))
            ratio = violation / best if best < np.inf else 0.0
            if violation < best:
                best, kept = violation, (w, self.b, self.F)
            stale = stale + 1 if ratio > 0.5 else 0
            if violation <= tol or stale > MOST_STALE:
                break
            D, d = self._direction(q, beta, w, local, violation, ratio)
            change = self._change(D, d)
            before = local.value(w)
            predicted = float((q * D).sum() + beta @ d) + local.value(w + D) - before
            if abs(predicted) <= ROUNDING_OF_FALL * (loss + before):
                t, loss = 1.0, self._try(change)
            else:
                t, loss = self._search(change, D, w, local, loss, before, predicted)
            if t > 0.0:
                self.W[features] = w + t * D
                self.b = self.b + t * d
                self.F = self._tried[0]
                self._expanded = self._tried
            self.steps += 1
        if best < violation:
            self.W[features], self.b, self.F = kept
        return best

    def _search(
        self,
        change: Floats,
        D: Floats,
        w: Floats,
        local: Penalty,
        loss: float,
        before: float,
        predicted: float,
    ) -> tuple[float, float]:
        """Return the fraction of the step to take (0: none found) and the mean loss there."""
        here = loss + before
        t = 1.0 if np.isfinite(change).all() and predicted < 0.0 else 0.0
        while t > 1e-12:
            lost = self._try(t * change)
            if lost + local.value(w + t * D) <= here + ARMIJO * t * predicted:
                return t, lost
            t /= 2.0
        return 0.0, loss

    def _try(self, change: Floats) -> float:
        """The mean loss after a change of the outputs, which is remembered."""
        F = self.F + change
        self._tried = F, self.loss.expansion(F, self.Y)
        return float(self.s @ self._tried[1].value)

    def _prepare(self, features: Indices) -> Indices:
        return features

    def _derivatives(self) -> tuple[Floats, Floats]:
        """The gradient in the weights of the working set and in the intercepts."""
        slopes = self.slopes()
        beta = slopes.sum(0) if self.design.fit_intercept else np.zeros(len(self.b))
        return self._products(slopes), beta

    def _change(self, D: Floats, d: Floats) -> Floats:
        """Return the change of the outputs by steps of weights and intercepts."""
        return self._outputs(D) + d

    def _products(self, slopes: Floats) -> Floats:
        raise NotImplementedError

    def _outputs(self, D: Floats) -> Floats:
        raise NotImplementedError

    def _direction(
        self, q: Floats, beta: Floats, w: Floats, local: Penalty, violation: float, ratio: float
    ) -> tuple[Floats, Floats]:
        raise NotImplementedError


class ColumnCache(Engine):
    """Keeps the columns of the working set as one dense array, in order of their first use."""

    def __init__(self, design: GraftingDesign, Y: Floats, loss: ConvexLoss) -> None:
        super().__init__(design, Y, loss)
        self.held: Indices = np.empty(0, dtype=np.intp)
        self._A = np.empty((design.m, 0), order="F")
        self._free: NDArray[np.bool_] = np.empty(0, dtype=bool)

    def _prepare(self, features: Indices) -> Indices:
        wanted = np.zeros(self.design.n, dtype=bool)
        wanted[features] = True
        missing = wanted.copy()
        missing[self.held] = False
        new = np.flatnonzero(missing)
        k = len(self.held)
        if k + len(new) > self._A.shape[1]:
            room = min(self.design.n, max(16, 2 * (k + len(new))))
            grown = np.empty((self.design.m, room), order="F")
            grown[:, :k] = self._A[:, :k]
            self._A = grown
        if len(new):
            self.design.columns(new, self._A[:, k : k + len(new)])
            self.held = np.concatenate([self.held, new])
        self._free = wanted[self.held]
        return self.held

    @property
    def columns(self) -> Floats:
        return self._A[:, : len(self.held)]

    def _products(self, slopes: Floats) -> Floats:
        q = self.columns.T @ slopes
        if not self._free.all():
            q[~self._free] = 0.0
        return q

    def _outputs(self, D: Floats) -> Floats:
        moving = np.flatnonzero(D.any(1))
        if 4 * len(moving) < len(D):
            return self.columns[:, moving] @ D[moving]
        return self.columns @ D


class SparseEngine(Engine):
    """One output, sparse columns: coordinate descent on the columns with the residual at hand.

    The loops work on x_j / scale_j, not centred; with the intercept eliminated the step D is the
    same, and the two intercepts differ by ``self._centres``'D.
    """

    greed = 2  # a column that need not be there costs next to nothing

    def __init__(self, design: GraftingDesign, Y: Floats, loss: ConvexLoss) -> None:
        super().__init__(design, Y, loss)
        X = design.sparse
        data = X.data if X.dtype in (np.float32, np.float64) else X.data.astype(np.float64)
        self._columns = core.sparse_columns(X.indptr, X.indices, data, design.scales)

    def _prepare(self, features: Indices) -> Indices:
        self._features = np.sort(features)
        self._centres = self.design.means[self._features] / self.design.scales[self._features]
        return self._features

    def _products(self, slopes: Floats) -> Floats:
        q = self._columns.products(self._features, slopes.ravel())
        return (q - self._centres * slopes.sum())[:, None]

    def _outputs(self, D: Floats) -> Floats:
        out = np.full(self.design.m, -float(self._centres @ D[:, 0]))
        self._columns.add_outputs(self._features, D.ravel(), out)
        return out[:, None]

    def _direction(
        self, q: Floats, beta: Floats, w: Floats, local: Penalty, violation: float, ratio: float
    ) -> tuple[Floats, Floats]:
        k, w, h = len(w), w.ravel(), self.curvatures()
        total = float(h.sum()) if self.design.fit_intercept else 0.0
        Z = self._columns.weighted(self._features, np.sqrt(h))
        raw, shift = q[:, 0] + self._centres * beta[0], -beta[0] / total if total else 0.0
        most = CRAWLS if k <= FEW_FOR_MATRIX else MOST_PASSES
        slope, tol = raw + 2.0 * local.l2 * w, INNER * violation
        D, shift, passes = core.descend_sparse(
            Z, total, shift, slope, w, local.l1, local.l2, tol, most
        )
        if passes == most == CRAWLS:
            A = self._weighted_columns(h)
            H = A.T @ A
            least = 1e-14 * H.diagonal()
            if total:
                c = Z.c
                H -= np.outer(c / total, c)
                raw = raw - c * (beta[0] / total)
            D = minimise(H, raw, w, local, least, tol)
            if total:
                shift = -(beta[0] + c @ D) / total
        return D[:, None], np.array([shift + self._centres @ D])

    def _weighted_columns(self, h: Floats) -> Floats:
        """The columns of the working set as one dense array, times the roots of h."""
        A = self.design.sparse[:, self._features].toarray(order="F").astype(np.float64)
        A *= np.sqrt(h)[:, None]
        A /= self.design.scales[self._features]
        return A
