"""A target on another scale: its logarithm or square root; predictions in its own units.

The search fits z = g(y). If errors are symmetric on that scale, the inverse of g of a prediction is
the median of y given the features, which for skewed errors is below the mean. The empty model
predicts the mean of y, so that R2 means the same as without a transformation.

With "auto" the search runs on every scale that the target allows. The scale with the lowest squared
error relative to the geometric mean slope of g is used (the criterion of Box and Cox 1964, with the
error of the search in place of the residual variance):

    error(z) / exp(2 mean log g'(y))

All of this is part of the fit, so that an honest error includes it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sparsepath.errors import InputError
from sparsepath.models.predictors import Linear, Linked, Predictor
from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.arrays import Floats


class TargetScale(NamedTuple):
    """A scale of the target: the name of the link, its words, the function and its slope."""

    link: str
    words: str
    forward: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    least: float  # the target must be above it, or at it too
    at_least: bool


SCALES = {
    "log": TargetScale("log", "logarithm", np.log, lambda y: 1 / y, 0.0, False),
    "log1p": TargetScale(
        "log1p", "logarithm (of 1 more)", np.log1p, lambda y: 1 / (1 + y), 0.0, True
    ),
    "sqrt": TargetScale("sqrt", "square root", np.sqrt, lambda y: 0.5 / np.sqrt(y), 0.0, True),
}
TRANSFORMS = ("log", "log1p", "sqrt", "auto")


def check_transform(name: Any, y: Any, *, classes: bool) -> Floats:
    """The target as numbers; refuse a transformation that it does not allow."""
    if not isinstance(name, str) or name not in TRANSFORMS:
        allowed = ", ".join(map(repr, TRANSFORMS))
        raise InputError(f"transform_target={name!r} is not known; use one of {allowed}, or None.")
    if classes:
        raise InputError(f"transform_target={name!r} is for regression; leave it out.")
    values = np.asarray(y, dtype=np.float64)
    scale = SCALES.get(name)
    if scale is not None and not _allows(scale, values):
        least = f"{np.nanmin(values):.6g}"
        other = " (log1p and sqrt allow zeros)" if name == "log" and np.nanmin(values) == 0 else ""
        above = "values from 0 up" if scale.at_least else "values above 0"
        raise InputError(
            f"transform_target={name!r} needs a target with {above}; the least value is "
            f"{least}{other}."
        )
    return values


def candidates(name: str, y: Floats) -> list[TargetScale | None]:
    """The scales to try; None is the target as it is."""
    if name != "auto":
        return [SCALES[name]]
    names = ("log", "sqrt") if y.min() > 0 else ("log1p",)
    return [None, *(SCALES[each] for each in names if _allows(SCALES[each], y))]


def _allows(scale: TargetScale, y: Floats) -> bool:
    return bool((y >= scale.least).all() if scale.at_least else (y > scale.least).all())


def relative_error(path: SelectionPath, scale: TargetScale | None, y: Floats) -> float:
    """The least error of a path, comparable between scales."""
    if "squared error" not in path.criterion:
        raise InputError(
            f"transform_target='auto' compares squared errors, and this search minimises the "
            f"{path.criterion}; choose log, log1p or sqrt."
        )
    error = path.error(path.choose("min"))
    return error if scale is None else error / np.exp(2 * np.log(scale.slope(y)).mean())


def in_units(
    path: SelectionPath, scale: TargetScale | None, y: Floats, weight: Any
) -> SelectionPath:
    """The path of a transformed target, with models that predict the target itself."""
    if scale is None:
        return path
    if any(isinstance(model, Linked) for model in path.models.values()):
        raise InputError(
            f"transform_target={scale.link!r}: the loss of the selector has a logarithm of its own."
        )
    models: dict[int, Predictor] = {
        size: Linked(model, scale.link) for size, model in path.models.items()
    }
    if 0 in models:
        mean = np.atleast_1d(np.average(y, axis=0, weights=weight))
        nothing = np.zeros(0, dtype=np.intp), np.zeros((0, len(mean)))
        models[0] = Linked(Linear(*nothing, scale.forward(mean)), scale.link)
    criterion = f"{path.criterion} of the {scale.words} of the target"
    return path.replaced(criterion=criterion, _models=models)
