"""Replace many rows by few, for methods that need only products of columns.

Let Z (m x n) be columns centred over m rows and divided by their scales, and y centred over the
same rows. If Z'Z = R'R with a triangular R, then Z = QR with orthonormal Q, and all products of
columns and y equal those of the n + 1 rows

    [ R  c ]        c = R^-T Z'y,      rho^2 = y'y - c'c.
    [ 0  rho ]

So least squares, least angle regression and lasso have the same solutions on both. If a search is
repeated with rows held out, Z'Z over the others is the total minus the products over the held-out
rows, and further costs do not depend on the number of rows.

Differences of products lose digits for nearly collinear columns, or columns that hardly vary within
a part of the rows. ``LEAST_LEFT`` limits that loss; beyond it the result is None.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from sparsepath.data.columns import is_constant
from sparsepath.system.arrays import Floats

LEAST_LEFT = 1e-6  # least part of a column's square that others, or fewer rows, must leave of it


@dataclass(frozen=True, eq=False)
class Condensed:
    """Few rows that replace many."""

    # (k + 1, k): of the columns that vary, with mean square one over the rows they stand for: their
    # squares sum to the number of these.
    Z: Floats
    y: Floats  # (k + 1,)
    mean: float  # of the target
    usable: NDArray[np.intp]  # (k,): the columns that vary
    centre: Floats  # (n,): of all columns: z = (x - centre) / scale
    scale: Floats
    n_rows: int  # how many rows there were


class Products:
    """Data, m x n, whose parts can be condensed.

    ``standardize``: divide columns by their standard deviations over the rows of a part.
    """

    def __init__(self, X: NDArray[np.number], *, standardize: bool = True) -> None:
        A = np.asarray(X, dtype=np.float64)
        self._means = A.mean(0)
        self._A = A - self._means
        self._total = self._A.T @ self._A
        self._standardize = standardize
        squares = self._total.diagonal()
        constant = is_constant(squares, squares + len(A) * self._means**2)
        self._varying = np.flatnonzero(~constant)
        self._factor: Floats | None = None  # of all rows, for many targets

    def condensed(self, y: Floats, rows: NDArray[np.intp] | None = None) -> Condensed | None:
        """Return few rows equivalent to some rows (default: all); y is for all rows."""
        m, k = len(self._A), self._varying
        part, gram, sums = self._A, self._total, np.zeros(self._A.shape[1])
        if rows is not None:
            inside = np.bincount(rows, minlength=m)
            if inside.max() > 1:
                return None
            part, y = self._A[rows], y[rows]
            away = np.flatnonzero(inside == 0)
            if len(away) < len(rows):
                gram = self._total - self._A[away].T @ self._A[away]
            else:
                gram = part.T @ part
            sums = part.sum(0)
        n_rows = len(y)
        centre = sums / n_rows
        gram = gram[np.ix_(k, k)] - n_rows * np.outer(centre[k], centre[k])
        squares = gram.diagonal()
        if (squares < LEAST_LEFT * n_rows / m * self._total.diagonal()[k]).any():
            return None
        scale = np.ones(len(centre))
        norms = np.sqrt(squares / n_rows)
        if self._standardize:
            scale[k] = norms
        factor = self._factor if rows is None else None
        if factor is None:
            try:
                factor = cholesky(gram / np.outer(norms, norms) / n_rows)
            except LinAlgError:
                return None
            if factor.diagonal().min(initial=1.0) ** 2 < LEAST_LEFT:
                return None
            if rows is None:
                self._factor = factor
        R = factor * (np.sqrt(n_rows) * norms / scale[k])
        mean = float(y.mean())
        t = y - mean
        along = (part.T @ t)[k] / scale[k]
        c = solve_triangular(R, along, trans="T")
        rest = np.sqrt(max(float(t @ t - c @ c), 0.0))
        Z = np.vstack([R, np.zeros((1, len(k)))])
        return Condensed(Z, np.append(c, rest), mean, k, self._means + centre, scale, n_rows)
