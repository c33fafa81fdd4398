"""Permutation test: the errors that the same search reaches on permuted targets.

Permuting y destroys every relation between X and y and changes nothing else, so the errors on
permuted targets are those without any signal. Let E be the errors of N permutations and of the data
themselves (N + 1 rows, one column per size), standardised by the mean M_k and the standard
deviation S_k of each column. The p-value of the path compares how far below the mean a row gets at
its best size,

    t_ik = (M_k - E_ik) / S_k,      T_i = max_k t_ik,      P = #{i : T_i >= T_0} / (N + 1),

and the p-value at size k, adjusted for all sizes, is #{i : T_i >= t_0k} / (N + 1) (Westfall and
Young 1993, *Resampling-Based Multiple Testing*, max-T). All rows are treated alike, so the level is
exact for any distribution.
"""

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.assessment import plots as pictures
from sparsepath.assessment.metrics import Floats
from sparsepath.assessment.out_of_sample import held_out_losses
from sparsepath.assessment.repetitions import (
    LOADED,
    Repetition,
    RepetitionResult,
    check_repeats,
    data_by_rows,
    has_path,
    rows_of,
    searches,
    with_groups,
)
from sparsepath.assessment.summary import Summary
from sparsepath.errors import InputError
from sparsepath.system.arrays import Axes
from sparsepath.system.frames import Make, make_frame
from sparsepath.system.interrupts import Interruptible
from sparsepath.system.number_format import brief

FOLDS = 5  # for predictors without a path
LEVEL = 0.05  # p-values above this: nothing is there that the search could not find in noise
SHUFFLES = math.ceil(1 / LEVEL) - 1  # shuffles below which no p-value reaches the level


@dataclass(frozen=True, eq=False, repr=False)
class Null(Summary):
    """Result of :func:`permutation_null`: errors on shuffled targets, and p-values.

    Attributes
    ----------
    sizes : tuple of int
        Sizes on the path.
    errors : array of shape (K,)
        Criterion on the data.
    null_errors : array of shape (n_permutations, K)
        Criterion on shuffled targets.
    p_values : array of shape (K,)
        p-value per size, adjusted for looking at all sizes (max-T).
    p_value : float
        p-value of the path.
    criterion : str
        Name of the criterion.
    """

    sizes: tuple[int, ...]
    errors: Floats
    null_errors: Floats
    p_values: Floats
    p_value: float
    criterion: str

    @property
    def anything(self) -> bool:
        """True if the search found more than on permuted targets."""
        return self.p_value <= LEVEL

    @property
    def is_nothing(self) -> bool:
        """True if it found no more than that; needs at least 19 permutations."""
        return not self.anything and len(self.null_errors) >= SHUFFLES

    def applied_to(self, model: Any) -> Any:
        """Return a copy of a fitted estimator that uses this result.

        Its ``honest_`` contains the p-value. If there is no signal, it uses the smallest model on
        its path, usually the empty one.

        Parameters
        ----------
        model : fitted estimator
            Estimator with a path.

        Examples
        --------
        >>> import numpy as np
        >>> from sparsepath import SparseRLSRegressor, permutation_null
        >>> X, y = np.random.default_rng(2).standard_normal((2, 40, 6))
        >>> model = SparseRLSRegressor(2, choose=2).fit(X, y[:, 0])
        >>> model = permutation_null(model, X, y[:, 0], 19).applied_to(model)
        >>> model.selected_, model.honest_.is_nothing
        (array([], dtype=int64), True)
        """
        model = copy.copy(model)
        if getattr(model, "honest_", None) is not None:
            p_value, nothing = self.p_value, self.is_nothing
            model.honest_ = replace(model.honest_, p_value=p_value, is_nothing=nothing)
        return model.at_size(model.path_.sizes[0]) if self.is_nothing else model

    def sentence(self) -> str:
        """Return the result in one sentence."""
        n = len(self.null_errors)
        size = self.sizes[int(self.p_values.argmin())]
        found = self.errors[self.sizes.index(size)]
        typical = float(np.median(self.null_errors[:, self.sizes.index(size)]))
        details = (
            f"(p = {self.p_value:.3g}): with the target shuffled {n} times, the same search has a "
            f"median error of {brief(typical)} at size {size}; on the data {brief(found)}."
        )
        if self.anything:
            return f"The signal is real {details}"
        if not self.is_nothing:
            return f"Undecided {details} At least {SHUFFLES} shuffles are needed."
        return f"No signal beyond noise {details}"

    def to_frame(self, backend: Make = None) -> Any:
        """Return a data frame with one row per size.

        Columns: size, error, null_median, null_least, p_value.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.
        """
        columns = {
            "size": list(self.sizes),
            "error": self.errors.tolist(),
            "null_median": np.median(self.null_errors, axis=0).tolist(),
            "null_least": self.null_errors.min(0).tolist(),
            "p_value": self.p_values.tolist(),
        }
        return make_frame(columns, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the errors on the data and on permuted targets.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on.
        """
        lower = "lower than" if self.anything else "not clearly lower than"
        title = f"p = {self.p_value:.3g}: {lower} where there is nothing to find"
        return pictures.plot_null(
            self.sizes, self.errors, self.null_errors, self.criterion, title, ax
        )


def permutation_null(
    estimator: Any,
    X: Any,
    y: Any,
    n_permutations: int = 200,
    *,
    groups: Any = None,
    random_state: int = 0,
    callback: Callable[[int, int], object] | None = None,
    **fit_params: Any,
) -> Null:
    """Repeat a search on shuffled targets.

    Parameters
    ----------
    estimator : estimator with a path, or any scikit-learn predictor
        It is cloned; only its search is repeated, without validation. A predictor without a path
        is evaluated by five-fold cross-validation, on y and on shuffled y.
    X, y : array, sparse matrix or data frame; array
        As given to ``fit``.
    n_permutations : int
        Number of shuffles.
    groups : array, optional
        Group labels. y is shuffled within groups, or between whole groups if it is constant within
        each; passed on to ``fit`` if it takes groups.
    random_state : int
        Seed of the shuffles.
    callback : callable, optional
        Called with the number of finished shuffles and their total. A true return value stops the
        work, as does Ctrl-C; the finished shuffles are used.
    **fit_params
        More arguments of ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsepath import LarsSelector, permutation_null
    >>> X, y = np.random.default_rng(0).standard_normal((2, 40, 6))
    >>> permutation_null(LarsSelector(2), X, y[:, 0], 19).anything
    False
    """
    given = with_groups(estimator, fit_params, groups)
    X, y, given, _ = data_by_rows(X, y, given, LOADED)
    orders = orders_of(y, n_permutations, groups, random_state)
    check_repeats(estimator)
    if has_path(estimator):
        again = [Repetition(), *(Repetition(order=order) for order in orders)]
        done = searches(estimator, X, y, given, again)
    else:
        done = _left_out(estimator, X, y, given, groups, orders)
    first = next(done)
    sizes = tuple(sorted(size for size in first.errors if size)) or (0,)
    rows: list[Floats] = []
    with Interruptible(keep=lambda: bool(rows)):
        while len(rows) < n_permutations:
            if callback is not None and callback(len(rows), n_permutations) and rows:
                break
            rows.append(_errors(next(done), sizes))
    null = np.array(rows)
    found = _errors(first, sizes)
    overall, per_size = p_values(found, null)
    return Null(sizes, found, null, per_size, overall, first.criterion)


def _left_out(
    estimator: Any, X: Any, y: Any, given: Any, groups: Any, orders: list[Any]
) -> Iterator[RepetitionResult]:
    """Return errors on held-out samples in each order, for predictors without a criterion."""
    for order in (None, *orders):
        target = y if order is None else rows_of(y, order)
        found = held_out_losses(estimator, X, target, FOLDS, fit_params=given, groups=groups)
        size = found.sizes[-1]
        error = {size: float(found.errors[-1])}
        yield RepetitionResult(
            {size: ()}, error, dict, f"{found.label} {found.metric} (honest error)"
        )


def orders_of(y: Any, times: int, groups: Any = None, random_state: int = 0) -> list[Any]:
    """Return random orders of the samples."""
    if not isinstance(times, int) or times < 1:
        raise InputError(f"n_permutations={times!r}; give a whole number from 1 up.")
    rng = np.random.default_rng(random_state)
    values = np.asarray(y)
    return [shuffle(rng, values, groups) for _ in range(times)]


def shuffle(rng: np.random.Generator, y: NDArray[Any], groups: Any = None) -> Any:
    """Return the sample from which each sample gets its target: a random order, within groups if
    any.

    If y is constant within every group, such as a diagnosis of a patient, no order within groups
    changes anything. Then whole groups are permuted, and each gets the target of another.
    """
    if groups is None:
        return rng.permutation(len(y))
    first, of = np.unique(np.asarray(groups), return_index=True, return_inverse=True)[1:]
    if np.all(y == y[first][of]):
        return first[rng.permutation(len(first))][of]
    order = np.arange(len(y))
    for group in range(len(first)):
        rows = np.flatnonzero(of == group)
        order[rows] = rng.permutation(rows)
    return order


def p_values(errors: Floats, null: Floats) -> tuple[float, Floats]:
    """Return the p-value of the path, and p-values per size adjusted for their number.

    >>> p_values(np.array([1.0, 5.0]), np.array([[2.0, 5.0], [3.0, 5.0], [4.0, 5.0]]))
    (0.25, array([0.25, 1.  ]))
    """
    E = np.vstack([errors, null])
    spread = E.std(0)
    t = (E.mean(0) - E) / np.where(spread > 0, spread, 1.0)
    highest = t.max(1)
    near = 1e-9  # equal errors, on either side of rounding
    adjusted = np.array([(highest >= value - near).mean() for value in t[0]])
    return float(adjusted.min()), adjusted


def _errors(found: RepetitionResult, sizes: tuple[int, ...]) -> Floats:
    return np.array([found.error(size) for size in sizes])
