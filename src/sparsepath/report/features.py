"""Facts about each feature for the report: weight, contribution, similar features.

They are computed from the data and the models:

weight
    Standard deviation of the contribution of the feature to the prediction of a linear model, with
    the sign of its coefficient; for regression divided by the standard deviation of the target.
rise
    Increase of the error without the feature. For searches with fixed features it is the increase
    of the criterion of the refitted subset; for other models, the increase of the training error
    with the feature replaced by its mean.
alike
    Other numeric columns that are strongly correlated with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from sparsepath.assessment.metrics import METRICS, Truth
from sparsepath.assessment.out_of_sample import metric_of
from sparsepath.data.columns import is_constant
from sparsepath.errors import InputError
from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.arrays import Floats
from sparsepath.tables.cells import RawTable

ROWS_SEEN = 20_000  # that are looked at for weights and pictures
MOST_NUMBERS = 20_000_000  # the same times columns, for what is like a feature
WORK = 2e8  # rows x columns^2 from which on sets are not refitted
MOST_PAIRED_ROWS = 300  # the same in rows, where pairs of rows are compared
STRONGLY = 0.7  # correlation from which on a column is named
NAMED_ALIKE = 3  # of these at most
AS_ASKED = (
    "alpha",
    "loss",
    "cv",
    "class_weight",
    "fit_intercept",
    "standardize",
    "pooled",
    "n_threads",
)


@dataclass(frozen=True)
class Seen:
    """The data that a model was fitted to."""

    X: Any
    y: NDArray[Any]
    extras: Mapping[str, Any] = field(default_factory=dict)  # weights, groups

    @property
    def some(self) -> "Seen":
        """Return the data, or evenly spaced rows of large data."""
        m = len(self.y)
        rows = np.arange(m) if m <= ROWS_SEEN else np.linspace(0, m - 1, ROWS_SEEN).astype(np.intp)
        return Seen(self.X[rows], self.y[rows])


@dataclass(frozen=True)
class Made:
    """Numeric columns used by models.

    ``of`` is the feature from which each column of ``Z`` was computed, ``places`` its index among
    all columns of the models, ``parted`` the features with several columns: categories and dates.
    """

    Z: Floats
    of: NDArray[np.intp]
    places: NDArray[np.intp]
    parted: frozenset[int] = frozenset()


def computed_columns(model: Any, X: Any, features: Sequence[int]) -> Made:
    """Return the columns that a model computes from some features."""
    preparation = getattr(model, "preparation_", None)
    wanted = np.asarray(features, dtype=np.intp)
    if preparation is None:
        part = X[:, wanted]
        part = part if isinstance(part, np.ndarray) else part.toarray()
        return Made(np.asarray(part, dtype=np.float64), wanted, wanted)
    every = preparation.groups_
    places = np.concatenate([np.flatnonzero(every == i) for i in wanted] or [wanted])
    Z = preparation.some(X, list(features)) if len(features) else np.zeros((len(X), 0))
    kinds = {i: preparation.features_[i].kind for i in features}
    parted = frozenset(i for i, kind in kinds.items() if kind in ("category", "date"))
    return Made(Z[:, places], every[places], places, parted)


def weights(path: SelectionPath, size: int, columns: Made, y: NDArray[Any]) -> list[float] | None:
    """Return the weight of each feature of a size; None for nonlinear models or several outputs."""
    formula = path.model(size).formula() if path.models else None
    if formula is None or formula.units is not None or formula.n_outputs != 1:
        return None
    slope = dict(zip(formula.columns.tolist(), formula.slopes[:, 0] / formula.scale, strict=True))
    b = np.array([slope.get(int(place), 0.0) for place in columns.places])
    numbers = y.dtype.kind in "iuf" and y.ndim == 1 and not has_link(path)
    scale = float(y.std()) if numbers else 1.0
    found = []
    for i in path.subset(size):
        mine = columns.of == i
        sign = 1.0 if i in columns.parted else np.sign(b[mine][0])
        found.append(float(sign * (columns.Z[:, mine] @ b[mine]).std() / (scale or 1.0)))
    return found


def has_link(path: SelectionPath) -> bool:
    """Whether the models have another scale than the target, such as its logarithm."""
    formula = path.model(path.sizes[-1]).formula() if path.models else None
    return formula is not None and formula.link != "identity"


def rises(model: Any, path: SelectionPath, size: int, seen: Seen) -> dict[str, Any] | None:
    """Return the error increase without each feature of a size, and the kind of error."""
    features = path.subset(size)
    if not features or not path.models:
        return None
    selector = getattr(model, "selector_", model)
    rows = len(seen.y)
    if "forced" in selector.get_params(deep=False) and hasattr(selector, "alpha_"):
        ranks = not hasattr(selector, "coef_") or "fit_intercept" not in selector.get_params()
        columns = computed_columns(model, seen.X, features)
        if rows * len(columns.of) ** 2 > WORK or (ranks and rows > MOST_PAIRED_ROWS):
            return None
        refitted = [_refitted(selector, path, seen, columns, i) for i in features]
        now = path.error(size)
        values = [None if error is None else error - now for error in refitted]
        return {"kind": path.criterion, "refitted": True, "values": values}
    some = seen.some
    columns = computed_columns(model, some.X, features)
    held = _held(model, path, size, some.y, columns)
    return {"kind": held[0], "refitted": False, "values": held[1]}


def _refitted(
    selector: Any, path: SelectionPath, seen: Seen, columns: Made, without: int
) -> float | None:
    """Return the criterion of the subset without a feature."""
    rest = columns.Z[:, columns.of != without]
    rest = rest[:, rest.max(0) > rest.min(0)]
    n = rest.shape[1]
    if not n:
        return path.error(0) if 0 in path.sizes else None
    asked = {name: value for name, value in selector.get_params().items() if name in AS_ASKED}
    asked |= {"alpha": selector.alpha_, "validation": None, "choose": "min"}
    small = type(selector)(max_features=n, forced=list(range(n)), **asked)
    try:
        found: SelectionPath = small.fit(rest, seen.y, **seen.extras).path_
    except InputError:  # such as columns that depend on each other, and no penalty
        return None
    return found.error(n)


def _held(
    model: Any, path: SelectionPath, size: int, y: NDArray[Any], columns: Made
) -> tuple[str, list[float | None]]:
    """Return the training error with each feature replaced by its mean."""
    formula = path.model(size).formula()
    place = {int(p): j for j, p in enumerate(columns.places)}
    order = [place[int(p)] for p in formula.columns]
    counts = is_classifier(getattr(model, "selector_", model))
    measure = METRICS["zero_one"] if counts else metric_of(model)
    truth = Truth.of(y, is_class=counts)

    def error(Z: Floats) -> float:
        whole = np.zeros((len(y), int(formula.columns.max(initial=-1)) + 1))
        whole[:, formula.columns] = Z[:, order]
        return float(np.mean(measure.losses(truth, formula.outputs(whole))))

    now = error(columns.Z)
    values: list[float | None] = []
    for i in path.subset(size):
        mine = columns.of == i
        values.append(error(np.where(mine, columns.Z.mean(0), columns.Z)) - now)
    return f"{measure.name} on the data", values


def alike(X: Any, names: Sequence[str], features: Sequence[int]) -> list[list[tuple[str, float]]]:
    """Return for each feature the most correlated numeric columns and the correlations."""
    rows, n = X.shape
    X = X[:: max(rows * n // MOST_NUMBERS, 1)]
    if isinstance(X, RawTable):
        cells = {j: c.values for j, c in enumerate(X.cells) if c.kind in ("number", "flag")}
        cells = {j: values for j, values in cells.items() if not np.isnan(values).all()}
        which = list(cells)
        filled = [np.where(np.isnan(v), np.nanmean(v), v) for v in cells.values()]
        Z = np.column_stack(filled) if filled else np.zeros((len(X), 0))
    elif isinstance(X, np.ndarray):
        which, Z = list(range(X.shape[1])), np.asarray(X, dtype=np.float64)
    else:
        return [[] for _ in features]
    Z = Z - Z.mean(0)
    squares = np.einsum("ij,ij->j", Z, Z)
    Z = Z / np.sqrt(np.where(is_constant(squares, squares), 1.0, squares))
    found: list[list[tuple[str, float]]] = []
    for i in features:
        if i not in which:
            found.append([])
            continue
        r = Z[:, which.index(i)] @ Z
        best = [j for j in np.argsort(-np.abs(r))[: NAMED_ALIKE + 1].tolist() if which[j] != i]
        found.append([(str(names[which[j]]), float(r[j])) for j in best if abs(r[j]) >= STRONGLY])
    return found
