"""The same forward search for many targets, many weights or many parts of the rows.

Permutation tests, resampling and nested cross-validation ask for the path of hundreds of problems
that differ only in their target, their sample weights or their rows. Each of them is searched as
``SparseRLSRegressor`` searches, with the same choices; what they have in common is prepared once.

Small problems are searched by one compiled loop each, a thread per problem. Larger ones are
searched as single ones are; if they are parts of the same rows and such a search takes the whole
Gram matrix (``leave_one_out/additions.py``), theirs come from one: products over all rows less
those over the rows left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.data.blocks import Floats
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.rls.criteria.losses import ROOM
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.design import Design
from sparsepath.rls.forms import form_for
from sparsepath.rls.leave_one_out.additions import BoundFinder
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.fused import ROUNDING
from sparsepath.rls.leave_one_out.model import COLLINEAR, OFF_CENTRE, VANISHED
from sparsepath.rls.leave_one_out.projection import SECOND_GO
from sparsepath.rls.paths import Task, make_design, run
from sparsepath.rls.update import TIE, TIE_FLOOR

COMPILED_NUMBERS = 1 << 22  # numbers in X up to which a problem is searched by one compiled loop


@dataclass(frozen=True)
class Searches:
    """Forward paths of several problems, as arrays: the first index is the problem.

    Attributes
    ----------
    sizes : array of int, shape (count,)
        The size that each search reached.
    subsets : array of int, shape (count, size)
        Features in order of entry; -1 beyond the size reached.
    errors, errors_se : arrays of shape (count, size + 1)
        Leave-one-out error of every size, from the empty model on, and its standard error; NaN
        beyond.
    coef : array of shape (count, size + 1, size, T)
        Coefficients of every size in the order of ``subsets``, in the units of the data.
    intercept : array of shape (count, size + 1, T)
    """

    sizes: NDArray[np.intp]
    subsets: NDArray[np.intp]
    errors: Floats
    errors_se: Floats
    coef: Floats
    intercept: Floats

    def predict(self, problem: int, X: ArrayLike) -> Floats:
        """Predictions of every size of one problem: (size + 1) x rows x T; NaN beyond."""
        k = int(self.sizes[problem])
        chosen = np.asarray(X[:, self.subsets[problem, :k]], dtype=np.float64)  # type: ignore[call-overload, index]
        out = chosen @ self.coef[problem, :, :k] + self.intercept[problem][:, None]
        out[k + 1 :] = np.nan
        return np.asarray(out)


def forward_searches(
    X: Any,
    Y: Floats,
    *,
    size: int,
    alpha: float = 1.0,
    weights: Floats | None = None,
    rows: Sequence[NDArray[np.intp]] | None = None,
    fit_intercept: bool = True,
    standardize: bool = False,
    candidates: Sequence[int] | None = None,
    threads: Threads | None = None,
) -> Searches:
    """Search forward, by exact leave-one-out and the squared loss, in many problems.

    Parameters
    ----------
    X : array or sparse matrix of shape (m, n)
        Features, checked.
    Y : array of shape (m, T) or (count, m, T)
        Targets; one for all problems or one for each.
    size : int
        How many features to choose.
    alpha, fit_intercept, standardize
        As for ``SparseRLSRegressor``.
    weights : array of shape (m,) or (count, m), optional
        Sample weights; for all problems or for each.
    rows : sequence of index arrays, optional
        The rows of each problem; default all.
    candidates : sequence of int, optional
        Columns that may be chosen; default all.
    threads : Threads, optional
        The crew; default one of its own, with a thread per core.

    Returns
    -------
    Searches
        The same for any number of threads.
    """
    m, n = X.shape
    Y = np.asarray(Y, dtype=np.float64)
    weights = np.ones(m) if weights is None else np.asarray(weights, dtype=np.float64)
    counts = {len(of) for of, many in ((Y, Y.ndim == 3), (weights, weights.ndim == 2)) if many}
    counts |= set() if rows is None else {len(rows)}
    if len(counts) > 1:
        raise InputError(f"targets, weights and rows are given for {sorted(counts)} problems.")
    count = counts.pop() if counts else 1
    allowed = np.zeros(n, dtype=bool)
    allowed[np.arange(n) if candidates is None else list(candidates)] = True
    problem = _Problems(X, Y, weights, rows, alpha, min(size, n), allowed)
    problem.options = {"fit_intercept": fit_intercept, "standardize": standardize}
    if threads is not None:
        return problem.search(count, threads)
    with Threads() as crew:
        return problem.search(count, crew)


@dataclass
class _Problems:
    """What the problems have in common, and what differs."""

    X: Any
    Y: Floats
    weights: Floats
    rows: Sequence[NDArray[np.intp]] | None
    alpha: float
    size: int
    allowed: NDArray[np.bool_]
    options: Any = None

    def search(self, count: int, threads: Threads) -> Searches:
        T, k = self.Y.shape[-1], self.size
        out = Searches(
            np.zeros(count, dtype=np.intp),
            np.full((count, k), -1, dtype=np.intp),
            np.full((count, k + 1), np.nan),
            np.full((count, k + 1), np.nan),
            np.zeros((count, k + 1, k, T)),
            np.zeros((count, k + 1, T)),
        )
        shared = self.rows is None and self.weights.ndim == 1
        alone = Threads(1)
        design = self._design(0, threads) if shared or count == 1 else None
        one = design if design is not None else self._design(0, threads)
        form = form_for(one, loss=SQUARED, n_targets=T, steps=k)
        small = one.n_samples * one.n_features <= COMPILED_NUMBERS and not one.sparse
        if form.name == "fused" and small:
            columns = None if design is None else columns_of(design, np.arange(design.n_features))

            def work(i: int) -> None:
                mine = self._design(i, alone) if design is None else design
                self._compiled(mine, self._target(i), columns, out, i)

            threads.map(work, range(count))
            return out
        takes_all = BoundFinder("auto", k).takes_all(one) and form.name == "bounds"
        gram = _LeftOut(self, threads) if self.rows is not None and takes_all else None

        def search(i: int) -> None:
            mine = self._design(i, alone) if design is None else design
            if gram is not None:
                gram.lend(mine, np.asarray(self.rows[i]))  # type: ignore[index]
            self._plain(mine, self._target(i), out, i)

        if design is not None:  # one after another, with all threads for each
            for i in range(count):
                search(i)
        else:
            threads.map(search, range(count))
        return out

    def _design(self, i: int, threads: Threads) -> Design:
        weights = self.weights if self.weights.ndim == 1 else self.weights[i]
        if self.rows is None:
            return make_design(self.X, weights, threads, **self.options)
        rows = self.rows[i]
        by_column = isinstance(self.X, np.ndarray) and self.X.flags.f_contiguous
        part = self.X.T.take(rows, axis=1).T if by_column else self.X[rows]
        return make_design(part, weights[rows], threads, **self.options)

    def _target(self, i: int) -> Floats:
        Y = self.Y[i] if self.Y.ndim == 3 else self.Y
        return Y if self.rows is None else Y[self.rows[i]]

    def _compiled(
        self, design: Design, Y: Floats, columns: Floats | None, out: Searches, i: int
    ) -> None:
        from sparsepath.rls.leave_one_out.compiled_many import forward

        if columns is None:
            columns = columns_of(design, np.arange(design.n_features))
        w, m, total = design.weights, design.n_samples, design.total
        y_mean = (w @ Y) / total if design.fit_intercept else np.zeros(Y.shape[1])
        centred = Y - y_mean
        if design.fit_intercept:
            centred = centred - (w @ centred) / total
        y = np.ascontiguousarray((np.sqrt(w)[:, None] * centred).T)
        p = 1.0 - w / total if design.fit_intercept else np.ones(m)
        floor = COLLINEAR**2 * design.squares + (OFF_CENTRE * design.sizes) ** 2
        guards = (ROOM, TIE, TIE_FLOOR, SECOND_GO, VANISHED, ROUNDING)
        given = (w, self.alpha, floor, design.squares, self.allowed & ~design.constant, guards)
        columns = np.ascontiguousarray(columns)
        errors, deviations = np.full((2, self.size + 1), np.nan)
        path = (out.subsets[i], errors, deviations, out.coef[i])
        k = forward(columns, y, p, *given, *path)
        subset = out.subsets[i, :k]
        out.sizes[i] = k
        out.errors[i] = errors / total
        counted = np.count_nonzero(w)
        out.errors_se[i] = np.sqrt(deviations * counted / (counted - 1)) / total
        coef = out.coef[i]
        coef[:, :k] *= design.scales[subset, None]
        out.intercept[i] = y_mean - np.einsum("i,kit->kt", design.means[subset], coef[:, :k])

    def _plain(self, design: Design, Y: Floats, out: Searches, i: int) -> None:
        candidates = tuple(np.flatnonzero(self.allowed).tolist())
        trail = run(design, Y, self.alpha, Task(size=self.size, candidates=candidates))
        k = max(trail.steps)
        out.sizes[i] = k
        out.subsets[i, :k] = trail.steps[k].subset
        for size, step in trail.steps.items():
            assert step.coef is not None
            out.errors[i, size], out.errors_se[i, size] = step.error, step.error_se
            out.coef[i, size, :size], out.intercept[i, size] = step.coef, step.intercept


class _LeftOut:
    """The Gram matrix of all rows, from which those of parts of the rows are had."""

    def __init__(self, problems: _Problems, threads: Threads) -> None:
        self._problems, weights = problems, problems.weights
        self._w = weights if weights.ndim == 1 else None
        self._total: Floats | None = None
        if self._w is not None and isinstance(problems.X, np.ndarray):
            whole = make_design(problems.X, self._w, threads, fit_intercept=True)
            self._means, self._whole = whole.means, whole
            self._total = self._products(np.arange(problems.X.shape[0]))

    def _products(self, rows: NDArray[np.intp]) -> Floats:
        """Sums of products over some rows, of columns less their means over all."""
        whole, n = self._whole, self._whole.n_features
        parts = np.split(rows, range(4096, len(rows), 4096))

        def products(part: NDArray[np.intp]) -> Floats:
            V = np.asarray(self._problems.X[part], dtype=np.float64) - self._means
            V *= np.sqrt(whole.weights[part, None])
            return V.T @ V

        return sum(map(products, parts), np.zeros((n, n)))

    def lend(self, design: Design, rows: NDArray[np.intp]) -> None:
        """Give a design over some of the rows its Gram matrix, if that is cheaper than its own."""
        if self._total is None:
            return
        counts = np.bincount(rows, minlength=self._whole.n_samples)
        left_out = np.flatnonzero(counts == 0)
        if counts.max() > 1 or 2 * len(left_out) > len(counts):
            return
        gram = self._total - self._products(left_out)
        if design.fit_intercept:
            off = design.means - self._means
            gram -= design.total * np.outer(off, off)
        else:
            w, mu = self._whole.weights[rows], self._means
            sums = design.blocks  # products with one, from the rows themselves
            along = sum(
                (b.dot(w[part, None])[:, 0] for b, part in zip(sums, design.slices, strict=True)),
                np.zeros(len(mu)),
            )
            cross = np.outer(along, mu)
            gram += cross + cross.T - design.total * np.outer(mu, mu)
        design.take_gram(design.scales[:, None] * gram * design.scales)
