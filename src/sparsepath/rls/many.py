"""The same forward search for many targets, many weights or many parts of the rows.

Permutation tests, resampling and nested cross-validation ask for the path of hundreds of problems
that differ only in their target, their sample weights or their rows. Each of them is searched as
``SparseRLSRegressor`` searches, with the same choices; what they have in common is prepared once.

Small problems are searched as a whole (``leave_one_out/whole.py``), a thread per problem. So are
parts of the same rows that are large: by one compiled loop each, whose products come from those
over all rows less those over the rows left out. All others are searched as single ones are.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.arrays import Floats
from sparsepath.data.blocks import GRAM_ROWS, turned
from sparsepath.data.crew import added
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.design import Design
from sparsepath.rls.driver import run
from sparsepath.rls.forms import Shape, default_memory, form_for
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.whole import Whole, whole_search
from sparsepath.rls.models import make_design
from sparsepath.rls.task import Task
from sparsepath.tuning import TUNING

WHOLE_NUMBERS = 1 << 22  # numbers in X up to which a problem is searched as a whole, by one thread
PAYS = 8  # products of all columns that pay, over those that single searches would take
COPIED = 0.7  # part of the rows below which a part of them is copied
TURN = 2  # problems for each thread between which Ctrl-C is heard and progress is told
MANY_NUMBERS = 1 << 25  # numbers times steps, in all, from which the loops are compiled if need be


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

    def put(self, problem: int, found: Whole) -> None:
        """Take over the path of a problem."""
        k = len(found.subset)
        self.sizes[problem] = k
        self.subsets[problem, :k] = found.subset
        self.errors[problem, : k + 1] = found.errors
        self.errors_se[problem, : k + 1] = found.errors_se
        self.coef[problem, : k + 1, :k] = found.coef
        self.intercept[problem, : k + 1] = found.intercept

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

    ``searches_in_turns`` does the same and can be left in between.

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
    given = (X, Y, weights, rows, candidates)
    options = {"fit_intercept": fit_intercept, "standardize": standardize}
    problems, count = _problems(*given, size=size, alpha=alpha, options=options)
    with nullcontext(threads) if threads is not None else Threads() as crew:
        *_, (found, _) = problems.search(count, crew)
    return found


def searches_in_turns(
    X: Any,
    Y: Floats,
    *,
    size: int,
    alpha: float,
    weights: Floats,
    rows: Sequence[NDArray[np.intp]] | None,
    candidates: Sequence[int],
    threads: Threads,
    **options: bool,
) -> Iterator[tuple[Searches, range]]:
    """As ``forward_searches``, a few problems at a time: the record, and which are new in it."""
    problems, count = _problems(
        X, Y, weights, rows, candidates, size=size, alpha=alpha, options=options
    )
    return problems.search(count, threads)


def _problems(
    X: Any,
    Y: Floats,
    weights: Floats | None,
    rows: Sequence[NDArray[np.intp]] | None,
    candidates: Sequence[int] | None,
    *,
    size: int,
    alpha: float,
    options: dict[str, bool],
) -> "tuple[_Problems, int]":
    m, n = X.shape
    Y = np.asarray(Y, dtype=np.float64)
    weights = np.ones(m) if weights is None else np.asarray(weights, dtype=np.float64)
    counts = {len(of) for of, many in ((Y, Y.ndim == 3), (weights, weights.ndim == 2)) if many}
    counts |= set() if rows is None else {len(rows)}
    if len(counts) > 1:
        raise InputError(f"targets, weights and rows are given for {sorted(counts)} problems.")
    allowed = np.zeros(n, dtype=bool)
    allowed[np.arange(n) if candidates is None else list(candidates)] = True
    problems = _Problems(X, Y, weights, rows, alpha, min(size, n), allowed, options)
    return problems, counts.pop() if counts else 1


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
    options: dict[str, bool]

    def search(self, count: int, threads: Threads) -> Iterator[tuple[Searches, range]]:
        """The record, and which problems are new in it, after every few of them."""
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
        rows = self.X.shape[0] if self.rows is None else len(self.rows[0])
        shape = Shape(rows, self.X.shape[1], not isinstance(self.X, np.ndarray))
        m, n = shape.n_samples, shape.n_features
        form = form_for(shape, loss=SQUARED, n_targets=T, steps=k)
        small = m * n <= WHOLE_NUMBERS and not shape.sparse
        if form.name == "fused" and small:
            columns = None if design is None else columns_of(design, np.arange(design.n_features))
            compiled = form.compiled or count * k * m * n >= MANY_NUMBERS

            def work(i: int) -> None:
                mine = self._design(i, alone) if design is None else design
                given = (mine, self._target(i), self.alpha, k, self.allowed)
                out.put(i, whole_search(*given, compiled=compiled, columns=columns))

            for some in _turns(count, TURN * threads.n_threads):
                threads.map(work, some)
                yield out, some
            return
        parts = None
        if form.name == "bounds" and _Parts.serve(self):
            parts = _Parts(self, threads)

        def search(i: int) -> None:
            if parts is not None and (found := parts.search(i, alone)) is not None:
                out.put(i, found)
                return
            mine = self._design(i, alone) if design is None else design
            self._plain(mine, self._target(i), out, i)

        one = Threads(1) if design is not None else threads  # all threads are for each, then
        for some in _turns(count, TURN * one.n_threads):
            one.map(search, some)
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
        trail = run(design, Y, self.alpha, Task(size=self.size, candidates=candidates))
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


class _Parts:
    """Parts of the rows as weights of all rows, and their Gram matrices from those of all rows.

    A row that is not in a part has no weight there, so that nothing is copied, unless that leaves
    out so many that a copy pays. Products over the
    rows left out are taken once for all parts that leave out the same, or nothing else than those;
    if every row is left out once, they sum to the products over all rows.
    """

    def __init__(self, problems: _Problems, threads: Threads) -> None:
        assert problems.rows is not None
        self._problems, self._roots = problems, np.sqrt(problems.weights)
        self._X = turned(problems.X, threads)
        m = len(self._X)
        self._means = make_design(self._X, problems.weights, threads).means
        self._inside = [np.bincount(rows, minlength=m) for rows in problems.rows]
        left_out = [np.flatnonzero(inside == 0) for inside in self._inside]
        self._less: dict[bytes, Floats] = {}
        if np.array_equal(np.sort(np.concatenate(left_out)), np.arange(m)):
            grams = threads.map(self._products, left_out)
            self._less = {rows.tobytes(): gram for rows, gram in zip(left_out, grams, strict=True)}
            self._total = added(grams)
        else:
            self._total = self._products(np.arange(m))

    @staticmethod
    def serve(problems: _Problems) -> bool:
        """Whether products of all columns cost less than what the searches would take of them."""
        X, rows = problems.X, problems.rows
        if rows is None or problems.weights.ndim > 1 or not isinstance(X, np.ndarray):
            return False
        m, n = X.shape
        fewer = sum(min(len(part), max(m - len(part), 0)) for part in rows)
        needed = PAYS * TUNING.gram_columns * problems.size * sum(map(len, rows))
        return n * fewer <= needed and 8 * n * (n * (len(rows) + 2) + m) <= default_memory()

    def _products(self, rows: NDArray[np.intp]) -> Floats:
        """Sums of products over some rows, of columns less their means over all."""
        from sparsepath.rls.leave_one_out.compiled_parts import picked

        X, n = self._X.T, self._X.shape[1]
        out = np.zeros((n, n))
        for part in np.split(rows, range(GRAM_ROWS, len(rows), GRAM_ROWS)):
            V = np.empty((n, len(part)))
            picked(X, part, self._means, self._roots, V)
            out += V @ V.T
        return out

    def search(self, i: int, alone: Threads) -> Whole | None:
        """The path of part i; None if rows come twice in it."""
        if self._inside[i].max() > 1:
            return None
        of, inside = self._problems, self._inside[i].astype(bool)
        X, weights, Y = self._X, of.weights * inside, of.Y[i] if of.Y.ndim == 3 else of.Y
        if np.count_nonzero(inside) < COPIED * len(inside):
            rows = np.flatnonzero(inside)
            X, weights, Y = self._picked(rows).T, weights[rows], Y[rows]
        design = make_design(X, weights, alone, **of.options)
        products = (*self._gram(inside), *self._shifts(design))
        return whole_search(design, Y, of.alpha, of.size, of.allowed, data=(X.T, products))

    def _picked(self, rows: NDArray[np.intp]) -> Floats:
        """Some rows of the data as they are, features by samples."""
        from sparsepath.rls.leave_one_out.compiled_parts import picked

        n, m = self._X.shape[1], len(self._X)
        out = np.empty((n, len(rows)))
        picked(self._X.T, rows, np.zeros(n), np.ones(m), out)
        return out

    def _gram(self, inside: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Two matrices of products whose difference is that over the rows inside."""
        left_out, rows, none = np.flatnonzero(~inside), np.flatnonzero(inside), np.zeros((0, 0))
        if (less := self._less.get(left_out.tobytes())) is not None:
            return self._total, less
        if (half := self._less.pop(rows.tobytes(), None)) is not None:  # left out by another part
            return half, none
        if len(left_out) > len(rows):
            return self._products(rows), none
        less = self._less[left_out.tobytes()] = self._products(left_out)
        return self._total, less

    def _shifts(self, design: Design) -> tuple[Floats, Floats]:
        """What other means than those of all rows add to products: ef' + fe'."""
        mu, total = self._means, design.total
        if design.fit_intercept:
            off = design.means - mu
            return -0.5 * total * off, off
        parts = zip(design.blocks, design.slices, strict=True)
        along = added([block.dot(design.weights[part, None]) for block, part in parts])[:, 0]
        return along - 0.5 * total * mu, mu
