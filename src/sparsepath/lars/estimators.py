"""Least angle regression as a selection path: a thin layer over scikit-learn."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from sparsepath.assessment.repetitions import Repetition, RepetitionResult, is_plain, linear_outputs
from sparsepath.base import Found, Run, Trail, fitting, open_fit
from sparsepath.base.least_angle import lars_entries
from sparsepath.base.linear import LinearModelMixin
from sparsepath.base.parameters import at_most, number
from sparsepath.base.selector import SizedSelector
from sparsepath.base.targets import PathRegressorMixin
from sparsepath.data.columns import standardise
from sparsepath.data.condensed import Products
from sparsepath.data.validation import check_features
from sparsepath.path.steps import Step, mean_and_se
from sparsepath.system.arrays import Floats

FIRST_ASKED, MORE = 32, 4  # columns that are asked for at first, and by what they grow
LARS_ROWS = 2  # rows for each column from which products of columns are worth making,
LONG_PATHS = 8  # if the path goes to this part of the columns
CRITERION = "leave-one-out squared error (selection error)"
ROOM = 1e-10  # 1 - leverage below which a sample decides its own prediction


@dataclass(eq=False, repr=False)
class LarsSelector(PathRegressorMixin, LinearModelMixin, SizedSelector):
    """Least angle regression: features in the order in which they enter.

    Features are scaled to unit variance. The model of each size is ridge regression on the features
    that have entered, and its error is the exact leave-one-out error of that model; one
    orthogonalisation of the features in their order gives all of them. Ctrl-C keeps the path so
    far.

    Parameters
    ----------
    max_features : int or None, default=None
        The largest size on the path; None: all features, or as many as samples allow.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Size used for prediction. "one_se": the smallest size whose error is within one standard
        error of the minimum (for honest errors, the standard error of the paired difference).
        "min": the size with the minimum error. An integer: this size, or with a warning the nearest
        one on the path. A float below one: the smallest size within this fraction of the minimum.
        A single split has no standard error; "one_se" then means "min", with a warning.
    l2 : float, default=0.001
        Ridge penalty: the mean squared error plus ``l2`` times the squared coefficients of the
        standardised features is minimised. 0: least squares, whose predictions can have large
        errors for rows unlike the training data if features are nearly collinear.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of
        folds ("auto": ten, or five for nonlinear methods), a scikit-learn splitter, or a list of
        splits. None: no honest errors; the size is chosen by the criterion of the search.
    callback : callable, optional
        Called after every feature with the path so far; a true value stops the search, as Ctrl-C
        does.

    Attributes
    ----------
    path_ : SelectionPath
        Subset, leave-one-out error and coefficients for every size.
    selected_ : array of int
        The columns in use, in order of entry.
    coef_, intercept_ : array, float
        Coefficients in the units of the data, zero for columns not in use.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> LarsSelector().fit(X, y).path_.names(4)
    ('bmi', 's5', 'bp', 's3')
    """

    _: KW_ONLY
    l2: float = 1e-3

    @fitting
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Follow least angle regression and choose a size."""
        given, X = open_fit(self, X, y, groups=groups)
        Y = self._numbers(y, X.shape[0])
        XT, centre, scale = standardise(X)
        usable = np.flatnonzero(XT.any(1))
        most = at_most("max_features", self.max_features, min(len(usable), len(Y) - 2))
        alpha = number("l2", self.l2) * len(Y)
        model, trail = _RidgePath(XT, centre, scale, Y[:, 0], most, alpha), Trail()

        def found() -> Found | None:
            return Found.on(trail) if trail.moves or most == 0 else None

        with Run(self, given, X, method="lars", found=found, subtasks=most) as run:
            trail.offer(model.step())
            for column in _entering(XT[usable].T, model.y, most):
                model.add(int(usable[column]))
                step = model.step()
                trail.offer(step, [trail.move("add", step.subset[-1], step.error)])
                if run.tell():
                    break
        return run.settle()

    def expected_seconds(self, X: Any) -> float:
        """Estimate the CPU seconds of a search, without the folds of the honest error."""
        n, p = X.shape
        moves = min(n, p, n if self.max_features is None else self.max_features)
        return 2e-3 + 2.5e-9 * n * p * moves  # 0.11 s at 500 x 300

    def _fold_seconds(self, n: int, p: int) -> float:
        """About what a search of n x p takes, by the shape alone: measured at 40 to 140 rows."""
        moves = min(n, p, n if self.max_features is None else self.max_features)
        return 2e-3 + 8e-9 * n * p * moves

    def _search_many(
        self, X: Any, y: Any, given: Any, repetitions: Sequence[Repetition]
    ) -> Iterator[RepetitionResult | None] | None:
        """Return the results of repetitions from products of columns; see ``data.condensed``."""
        X = check_features(self, X, reset=True)
        m, n = X.shape
        longest = at_most("max_features", self.max_features, n)
        more = set(given) - {"groups"}  # which matter to whoever leaves rows out
        if more or not isinstance(X, np.ndarray) or m < LARS_ROWS * n or LONG_PATHS * longest < n:
            return None
        t, products = self._numbers(y, m)[:, 0], Products(X)
        columns = standardise(X) if any(one.rows is None for one in repetitions) else None
        l2 = number("l2", self.l2)
        return (_again(products, columns, X, t, one, longest, l2) for one in repetitions)


def _again(
    products: Products,
    columns: tuple[Floats, Floats, Floats] | None,
    X: Floats,
    y: Floats,
    one: Repetition,
    longest: int,
    l2: float,
) -> RepetitionResult | None:
    """One repetition; leave-one-out errors need the rows themselves, ``columns``, if these are all.

    The order of entry comes from the condensed rows, and of some rows the models too.
    """
    y = y if one.order is None else y[one.order]
    few = products.condensed(y, one.rows) if is_plain(y, one) else None
    if few is None:
        return None
    most = min(len(few.usable), few.n_rows - 2, longest)
    entering = few.usable[list(_entering(few.Z, few.y, most))]
    if one.rows is None:
        assert columns is not None
        model = _RidgePath(*columns, y, most, l2 * few.n_rows)
    else:
        XT = np.zeros((X.shape[1], len(few.y)))
        XT[few.usable] = few.Z.T
        alpha = l2 * few.n_rows
        model = _RidgePath(XT, few.centre, few.scale, few.y, most, alpha, few.mean)
    steps = [model.step()]
    for column in entering.tolist():
        model.add(column)
        steps.append(model.step())
    errors = {len(step.subset): step.error for step in steps if one.rows is None}
    return RepetitionResult(
        {len(step.subset): step.subset for step in steps},
        errors,
        lambda rows: linear_outputs(X[rows], steps),
        CRITERION,
    )


def _entering(X: Floats, y: Floats, most: int) -> Iterator[int]:
    """Columns as they enter, at most so many.

    scikit-learn returns them all at its end, so it computes a few, then four times as many,
    and so on: a third more work at the most, and something to keep if the rest is not waited for.
    """
    given, asked = 0, FIRST_ASKED
    while given < most:
        entered = lars_entries(X, y, min(asked, most))
        yield from entered[given:].tolist()
        if len(entered) < asked:
            return
        given, asked = len(entered), MORE * asked


class _RidgePath:
    """Ridge regression on the first 0, 1, 2, ... columns of an order.

    It is least squares with a row sqrt(alpha) for each column below the samples, X = Q R. A column
    is made orthogonal to those before it twice, which is enough for Q to be orthogonal to rounding;
    the leverages of the samples are the sums of squares of their rows of Q. If ``mean`` is given, y
    is centred already, and no row is a sample: there are no leave-one-out errors then.
    """

    def __init__(
        self,
        XT: Floats,
        centre: Floats,
        scale: Floats,
        y: Floats,
        most: int,
        alpha: float,
        mean: float | None = None,
    ) -> None:
        n = len(y)
        self.XT, self.centre, self.scale, self.root = XT, centre, scale, np.sqrt(alpha)
        self.mean = y.mean() if mean is None else mean
        self.y = y - self.mean if mean is None else y
        self.Q, self.R, self.z = np.zeros((most, n + most)), np.zeros((most, most)), np.empty(most)
        # Residuals, of the rows of the penalty too, and 1 - leverages.
        self.e, self.p = np.append(self.y, np.zeros(most)), np.full(n, 1.0 - 1.0 / n)
        self.order: list[int] = []

    def add(self, column: int) -> None:
        """Let a column enter."""
        n, k = len(self.y), len(self.order)
        before, q = self.Q[:k], self.Q[k]
        q[:n], q[n + k] = self.XT[column], self.root
        for _ in range(2):
            along = before @ q
            q -= along @ before
            self.R[:k, k] += along
        self.R[k, k] = np.linalg.norm(q)
        q /= self.R[k, k]
        self.z[k] = q[:n] @ self.y
        self.e -= self.z[k] * q
        self.p -= np.square(q[:n])
        self.order.append(column)

    def step(self) -> Step:
        """Return the model of the columns so far, with its leave-one-out error."""
        n, k, subset = len(self.y), len(self.order), self.order
        squares = np.square(self.e[:n] / np.maximum(self.p, ROOM))
        error, se = np.inf, np.nan  # a sample that decides its own prediction is not left out
        if self.p.min() > ROOM:
            error, se = mean_and_se(squares)
        coef = np.empty((0, 1))
        if k:
            coef = solve_triangular(self.R[:k, :k], self.z[:k, None]) / self.scale[subset, None]
        intercept = self.mean - self.centre[subset] @ coef
        return Step(tuple(subset), error, se, coef, intercept, np.square(self.e[:n]).mean())
