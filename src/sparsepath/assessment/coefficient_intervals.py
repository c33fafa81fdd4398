"""Bootstrap intervals of the coefficients of selected features, and how often each is selected.

The rows are drawn with replacement B times (whole groups; within classes). With S the selected
columns, of size k, each draw b gives

- the coefficients of the model on S, refitted to the draw: their quantiles are the interval;
- the set S_b of size k that the search finds on the draw: the share of draws with i in S_b.

The interval is the percentile interval of a model whose columns were fixed beforehand. These
columns were not: they were selected on the same rows, which favours large coefficients. So an
interval covers the coefficient less often than its level says; the share shows how much of
the selection depends on the rows. Measured coverage is in ``docs/honest-error.md``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from sparsepath.assessment.repetitions import Repetition, rows_of, searches, with_groups
from sparsepath.assessment.summary import Summary
from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats
from sparsepath.system.frames import Make, make_frame
from sparsepath.system.interrupts import Interruptible

PLAIN = {"feature_groups": None, "parents": None, "forbidden": None, "start": None}


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients(Summary):
    """Coefficients of the selected features with bootstrap intervals.

    Attributes
    ----------
    features : tuple of str
        Names of the selected columns, in order of entry.
    values : array
        Their coefficients, in units of the data.
    low, high : array
        Ends of the percentile intervals of the model on these columns.
    shares : array
        Share of the resamples on which the search selects the column, at the same size.
    level : float
        Level of the intervals for columns that were fixed beforehand.
    n_resamples : int
        Number of resamples.
    """

    features: tuple[str, ...]
    values: Floats
    low: Floats
    high: Floats
    shares: Floats
    level: float
    n_resamples: int

    def to_frame(self, backend: Make = None) -> Any:
        """Return a data frame: feature, coefficient, low, high, share.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library; default: the first that is installed.
        """
        columns = {
            "feature": list(self.features),
            "coefficient": self.values.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "share": self.shares.tolist(),
        }
        return make_frame(columns, backend)

    def sentence(self) -> str:
        """Return what the intervals are, and which features depend on the rows."""
        rare = [
            f"{name} ({share:.0%})".replace("%", " %")
            for name, share in zip(self.features, self.shares, strict=True)
            if share < 0.5
        ]
        doubt = f"; selected in less than half of them: {', '.join(rare)}" if rare else ""
        return (
            f"{len(self.features)} coefficients with {100 * self.level:.3g} % intervals of the "
            f"model on these columns, from {self.n_resamples} bootstrap resamples{doubt}. The "
            "selection is not part of the intervals."
        )


def coefficients(
    model: Any,
    X: Any,
    y: Any,
    n_resamples: int = 200,
    *,
    level: float = 0.9,
    groups: Any = None,
    random_state: int = 0,
    callback: Callable[[int, int], object] | None = None,
    **fit_params: Any,
) -> Coefficients:
    """Return bootstrap intervals of coefficients, and how often each feature is selected.

    Parameters
    ----------
    model : fitted SparseRLSRegressor or SparseRLSClassifier, or TableSelector of one
        With one target or two classes.
    X, y : array or data frame; array
        The data that the model was fitted to.
    n_resamples : int, default=200
        Number of bootstrap resamples.
    level : float, default=0.9
        Level of the intervals.
    groups : array, optional
        Group labels; whole groups are drawn.
    random_state : int, default=0
        Seed of the resamples.
    callback : callable, optional
        Called with the number of finished resamples and their total. A true return value stops the
        work, as does Ctrl-C; the finished resamples are used if there are at least two.
    **fit_params
        More arguments of ``fit``, such as ``sample_weight``.

    Notes
    -----
    The intervals are those of the model on the selected columns, as if these had been fixed
    beforehand. They do not include the selection; see the user guide for measured coverage.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparsepath import SparseRLSRegressor, coefficients
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SparseRLSRegressor(choose=3, validation=None).fit(X, y)
    >>> found = coefficients(model, X, y, 50)
    >>> found.features, bool((found.low < found.values).all())
    (('bmi', 's5', 'bp'), True)
    """
    check_is_fitted(model)
    if not isinstance(n_resamples, int) or n_resamples < 2 or not 0 < level < 1:
        raise InputError(
            f"n_resamples={n_resamples!r} must be a whole number from 2 up, and level={level!r} a "
            "number between 0 and 1."
        )
    if hasattr(model, "_as_numbers"):  # a table
        X, y, model = model._as_numbers(X, y)
    ranks = getattr(model, "_metric", None) == "ranking"
    if ranks or not hasattr(model, "refit_alpha_") or np.size(model.intercept_) > 1:
        raise InputError(
            f"{type(model).__name__} has no intervals of coefficients; give a SparseRLSRegressor "
            "with one target, or a SparseRLSClassifier with two classes."
        )
    chosen = model.selected_
    names = tuple(str(model.path_.feature_names[i]) for i in chosen)
    size, rows = len(chosen), _drawn(model, y, n_resamples, groups, random_state)
    if not size:
        empty = np.zeros(0)
        return Coefficients((), empty, empty, empty, empty, level, n_resamples)
    given = with_groups(model, fit_params, groups)
    search = clone(model).set_params(alpha=model.alpha_, max_features=size)
    found = searches(search, X, y, given, [Repetition(rows=each) for each in rows])
    refit = _on_columns(model, size)
    columns = rows_columns(X, chosen)
    values, times = list[Floats](), np.zeros(size)
    with Interruptible(keep=lambda: len(values) > 1):
        for each, one in zip(rows, found, strict=True):
            if callback is not None and callback(len(values), n_resamples) and len(values) > 1:
                break
            times += np.isin(chosen, one.subset(size))
            more = {name: rows_of(value, each) for name, value in fit_params.items()}
            fitted = clone(refit).fit(columns[each], rows_of(y, each), **more)
            values.append(np.ravel(fitted.coef_))
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    own = np.ravel(model.coef_)[chosen]
    return Coefficients(names, own, low, high, times / len(values), level, len(values))


def rows_columns(X: Any, chosen: NDArray[np.intp]) -> Floats:
    """Return some columns of an array or data frame as an array."""
    from sklearn.utils import _safe_indexing

    found = X[:, chosen] if hasattr(X, "tocsr") else _safe_indexing(X, chosen, axis=1)
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)


def _on_columns(model: Any, size: int) -> Any:
    """Return the same estimator without a search: all columns are forced."""
    known = model.get_params(deep=False)
    fixed = {"max_features": size, "choose": size, "forced": range(size), "validation": None}
    plain = {name: value for name, value in PLAIN.items() if name in known}
    rates = getattr(model, "_power", None) is not None  # these have models of their own
    loss = model.loss if rates else "squared"
    more = {"alpha": model.refit_alpha_, "loss": loss, "search": "forward", "cv": "loo"}
    return type(model)(**{**known, **plain, **fixed, **more, "callback": None, "checkpoint": None})


def _drawn(
    model: Any, y: Any, times: int, groups: Any, random_state: int
) -> list[NDArray[np.intp]]:
    """Return rows drawn with replacement: whole groups, or within the classes."""
    rng, n = np.random.default_rng(random_state), len(y)
    if groups is not None:
        of = np.unique(np.asarray(groups), return_inverse=True)[1]
        members = [np.flatnonzero(of == g) for g in range(of.max() + 1)]
        draws = (rng.integers(0, len(members), len(members)) for _ in range(times))
        return [np.concatenate([members[g] for g in draw]) for draw in draws]
    of = (
        np.unique(np.asarray(y), return_inverse=True)[1]
        if is_classifier(model)
        else np.zeros(n, int)
    )
    classes = [np.flatnonzero(of == c) for c in range(of.max() + 1)]
    return [np.concatenate([rng.choice(rows, len(rows)) for rows in classes]) for _ in range(times)]
