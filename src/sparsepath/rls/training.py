r"""The penalised training error of ridge regression, from the products of the columns.

With M = X'X + alpha I and b = X'Y, centred, weighted and scaled as the design has it, the least of
|Y - X W|^2 + alpha |W|^2 over the columns S is

    F(S) = Y'Y - b_S' M_S^-1 b_S.

With M_S = L L', Z = L^-1 M_S. and a = L^-1 b_S, a column j that enters lowers it by
|c_j|^2 / s_j with c = b - Z'a and s_j = M_jj - |Z_j|^2; one that leaves raises it by
|w_i|^2 / (M_S^-1)_ii, w the coefficients.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from sparsepath.errors import InputError
from sparsepath.rls.design import Design
from sparsepath.rls.model import SearchEngine
from sparsepath.rls.update import Update, pick
from sparsepath.system.arrays import Floats

VANISHED = 1e-14  # part of the empty model's criterion that is nothing


@dataclass(frozen=True, eq=False)
class RidgeProducts:
    """M, b and Y'Y of some columns."""

    M: Floats
    b: Floats
    yy: float

    @classmethod
    def of(cls, design: Design, Y: Floats, alpha: float) -> "RidgeProducts":
        """Return those of all columns of a design."""
        M = design.scales[:, None] * design.products * design.scales
        M[np.diag_indices_from(M)] += alpha
        w = design.weights[:, None]
        target = Y - np.average(Y, axis=0, weights=design.weights) * design.fit_intercept
        return cls(M, design.dot(w * target), float((w * target**2).sum()))

    def only(self, columns: NDArray[np.intp]) -> "RidgeProducts":
        """Return those of some columns."""
        return RidgeProducts(self.M[np.ix_(columns, columns)], self.b[columns], self.yy)

    def factor(self, columns: NDArray[np.intp] | list[int]) -> tuple[Floats, Floats]:
        """Return L and the coefficients of some columns."""
        columns = np.asarray(columns, dtype=np.intp)
        L = cholesky(self.M[np.ix_(columns, columns)], lower=True)
        return L, cho_solve((L, True), self.b[columns])

    def value(self, columns: NDArray[np.intp] | list[int]) -> float:
        """Return F of some columns."""
        if not len(columns):
            return self.yy
        return self.yy - float((self.b[columns] * self.factor(columns)[1]).sum())


class TrainingModel(SearchEngine):
    """A model with the penalised training error as criterion; used only to find subsets."""

    def __init__(self, products: RidgeProducts, constant: NDArray[np.bool_]) -> None:
        self.products, self.constant = products, constant
        self.empty_error = products.yy
        self._choose([])

    def _choose(self, chosen: list[int]) -> None:
        of = self.products
        self._L, self._w = np.zeros((0, 0)), np.zeros((0, of.b.shape[1]))
        pivots, left, error = of.M.diagonal().copy(), of.b, of.yy
        if chosen:
            try:
                self._L, self._w = of.factor(chosen)
            except LinAlgError as collinear:
                raise InputError(f"column {chosen[-1]} is collinear with others.") from collinear
            Z = solve_triangular(self._L, of.M[chosen], lower=True)
            a = solve_triangular(self._L, of.b[chosen], lower=True)
            pivots -= (Z * Z).sum(0)
            left = of.b - Z.T @ a
            error = of.yy - float((a * a).sum())
        self.chosen, self.error = chosen, error
        free = (pivots > 1e-10 * of.M.diagonal()) & ~self.constant
        free[chosen] = False
        gains = np.divide((left * left).sum(1), pivots, where=free, out=np.zeros(len(pivots)))
        self._after = np.where(free, error - gains, np.inf)

    def add(self, feature: int) -> None:
        """Add a feature."""
        self._choose([*self.chosen, feature])

    def drop(self, feature: int) -> None:
        """Remove a selected feature."""
        self._choose([i for i in self.chosen if i != feature])

    def best_addition(self, features: Iterable[int] | None = None) -> Update | None:
        """Return the best single addition."""
        which = np.arange(len(self._after)) if features is None else np.array(list(features), int)
        return pick("add", which, self._after[which], self.empty_error)

    def best_removal(
        self, features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """Return the best single removal."""
        inverse = cho_solve((self._L, True), np.eye(len(self.chosen)))
        errors = self.error + (self._w**2).sum(1) / inverse.diagonal()
        which = np.array(self.chosen, dtype=np.intp)
        if features is not None:
            some = np.isin(which, list(features))
            which, errors = which[some], errors[some]
        return pick("drop", which, errors, self.empty_error)

    @property
    def vanished(self) -> bool:
        """Return whether nothing is left to explain."""
        return self.error <= VANISHED * self.empty_error

    def standard_error(self) -> float:
        """Return NaN: a training error has no standard error."""
        return float("nan")

    def coef(self) -> Floats:
        """Return the coefficients of the scaled columns."""
        return self._w

    def intercept(self) -> Floats:
        """Intercept for centred targets."""
        return np.zeros(self._w.shape[1])

    def duplicate(self) -> Self:
        """Return a copy."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other
