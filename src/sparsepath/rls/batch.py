"""The same forward search for many targets, weights or parts of the rows.

Permutation tests, resampling and nested cross-validation need the paths of hundreds of problems
that differ only in target, sample weights or rows. Each is searched like ``SparseRLSRegressor``,
with the same choices; the common part is prepared once.

Small problems are searched in memory (``leave_one_out/in_memory.py``), one thread per problem.
Large parts of the same rows are searched by one compiled loop each, with products computed as the
total minus those over the held-out rows. All others are searched individually.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.memory_layout import column_major
from sparsepath.errors import InputError
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.design import Design
from sparsepath.rls.driver import run
from sparsepath.rls.engines import Shape, bounds_pay, form_for, make_design
from sparsepath.rls.leave_one_out.forward_path import ForwardPath
from sparsepath.rls.leave_one_out.gram_search import ProductSearch, by_gram, products_pay
from sparsepath.rls.leave_one_out.in_memory import InMemory
from sparsepath.rls.parameters import SearchSpec
from sparsepath.rls.shared_moments import Problems, SharedParts, n_products
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads

WHOLE_NUMBERS = 1 << 22  # numbers in X up to which a problem is searched as a whole, by one thread
TURN = 2  # problems for each thread between which Ctrl-C is heard and progress is told


@dataclass(frozen=True)
class Searches:
    """Forward paths of several problems, as arrays whose first index is the problem."""

    sizes: NDArray[np.intp]  # (count,): the size that each search reached
    # (count, size): features in order of entry; -1 beyond the size reached.
    subsets: NDArray[np.intp]
    # (count, size + 1): leave-one-out error of every size, from the empty model on, and its
    # standard error; NaN beyond.
    errors: Floats
    errors_se: Floats
    # (count, size + 1, size, T): coefficients of every size in the order of subsets, in the units
    # of the data.
    coef: Floats
    intercept: Floats  # (count, size + 1, T)

    def put(self, problem: int, found: ForwardPath) -> None:
        """Store the path of a problem."""
        k = len(found.subset)
        self.sizes[problem] = k
        self.subsets[problem, :k] = found.subset
        self.errors[problem, : k + 1] = found.errors
        self.errors_se[problem, : k + 1] = found.errors_se
        self.coef[problem, : k + 1, :k] = found.coef
        self.intercept[problem, : k + 1] = found.intercept

    def predict(self, problem: int, X: Any, rows: NDArray[np.intp] | None = None) -> Floats:
        """Return predictions of every size of one problem: (size + 1) x rows x T; NaN beyond the
        path.
        """
        k = int(self.sizes[problem])
        rows = np.arange(len(X)) if rows is None else rows
        chosen = np.asarray(X[np.ix_(rows, self.subsets[problem, :k])], dtype=np.float64)
        intercept = self.intercept[problem]
        coef = self.coef[problem, :, :k]  # all of them in one product
        out = chosen @ coef.transpose(1, 0, 2).reshape(k, intercept.size)
        out = out.reshape(len(rows), *intercept.shape) + intercept
        out[:, k + 1 :] = np.nan
        return np.asarray(out.transpose(1, 0, 2))


class ProblemSearch(Problems):
    """Forward searches in several problems."""

    @classmethod
    def of(
        cls,
        X: Any,
        Y: Floats,
        *,
        size: int,
        alpha: float = 1.0,
        weights: Floats | None = None,
        rows: Sequence[NDArray[np.intp]] | None = None,
        candidates: Sequence[int] | None = None,
        likely: Sequence[int] = (),
        **options: Any,
    ) -> "ProblemSearch":
        """Create forward searches by exact leave-one-out and the squared loss in many problems.

        X, m x n, is checked. Targets (m x T, or count x m x T), ``weights`` (m, or count x m) and
        ``rows`` are common or one per problem; ``size`` features are selected from the
        ``candidates``. ``likely`` columns, those that most problems will select, affect the speed
        only; ``options`` are ``fit_intercept`` and ``standardize`` of ``make_design``.
        """
        m, n = X.shape
        Y = np.asarray(Y, dtype=np.float64)
        weights = np.ones(m) if weights is None else np.asarray(weights, dtype=np.float64)
        allowed = np.zeros(n, dtype=bool)
        allowed[np.arange(n) if candidates is None else list(candidates)] = True
        return cls(X, Y, weights, rows, alpha, min(size, n), allowed, options, likely)

    @property
    def count(self) -> int:
        """Number of problems."""
        several = [(self.Y, self.Y.ndim == 3), (self.weights, self.weights.ndim == 2)]
        counts = {len(of) for of, many in several if many}
        counts |= set() if self.rows is None else {len(self.rows)}
        if len(counts) > 1:
            raise InputError(
                "targets, weights and rows must be given for the same number of problems, not for "
                f"{sorted(counts)}."
            )
        return counts.pop() if counts else 1

    def search(self, threads: Threads) -> Iterator[tuple[Searches, range]]:
        """Yield the record and the newly solved problems, after every few of them."""
        T, k, count = self.Y.shape[-1], self.size, self.count
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
        rows = self.X.shape[0] if self.rows is None else len(self.rows[0])
        shape = Shape(rows, self.X.shape[1], not isinstance(self.X, np.ndarray))
        m, n = shape.n_samples, shape.n_features
        form = form_for(shape, loss=SQUARED, steps=k, targets=T, once=True)
        parts, small = None, m * n <= WHOLE_NUMBERS and not shape.sparse
        columns = n_products(self) // max(
            1, count
        )  # of which products are taken, once for all parts
        alone_by_bounds = bounds_pay(m, n, k) and not products_pay(m, n, k, T)
        if (alone_by_bounds or products_pay(m, columns, k, T, count)) and SharedParts.serve(self):
            parts = SharedParts(self, threads)
        elif form.name != "passes" and small:
            if self.rows is not None:
                self.X = column_major(self.X, threads, np.float64)  # once, not in every part

            def work(i: int) -> None:
                mine = self._design(i, alone) if design is None else design
                given = (mine, self._target(i), self.alpha, k, self.allowed)
                if form.name == "gram":
                    out.put(i, ProductSearch(*given, by_gram(mine, given[1], k)).full_path())
                else:
                    out.put(i, InMemory(*given[:3], SQUARED, k, n_threads=1).path(k, self.allowed))

            for some in _turns(count, TURN * threads.n_threads):
                threads.map(work, some, len(some) * m * n * k)
                yield out, some
            return

        def search(i: int) -> None:
            if parts is not None and (found := parts.search(i, alone)) is not None:
                out.put(i, found)
                return
            mine = self._design(i, alone) if design is None else design
            self._plain(mine, self._target(i), out, i)

        one = Threads(1) if design is not None else threads  # all threads are for each, then
        for some in _turns(count, TURN * one.n_threads):
            if parts is not None:
                parts.prepare(some, one)
            one.map(search, some, len(some) * m * n * k)
            yield out, some

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

    def _plain(self, design: Design, Y: Floats, out: Searches, i: int) -> None:
        candidates = tuple(np.flatnonzero(self.allowed).tolist())
        trail = run(design, Y, self.alpha, SearchSpec(size=self.size, candidates=candidates))
        k = max(trail.steps)
        out.sizes[i] = k
        out.subsets[i, :k] = trail.steps[k].subset
        for size, step in trail.steps.items():
            assert step.coef is not None
            out.errors[i, size], out.errors_se[i, size] = step.error, step.error_se
            out.coef[i, size, :size], out.intercept[i, size] = step.coef, step.intercept


def _turns(count: int, at_once: int) -> Iterator[range]:
    for begin in range(0, count, at_once):
        yield range(begin, min(begin + at_once, count))
