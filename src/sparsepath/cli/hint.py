"""Whether a nonlinear model is far better than the linear one that was found."""

from typing import Any

from sklearn.base import is_classifier

from sparsepath.assessment.repetitions import fitted
from sparsepath.errors import InputError
from sparsepath.methods import METHODS
from sparsepath.methods.auto_selector import part_of

SHORT = 0.5  # CPU seconds that one search for the hint may take by its estimate
FOLDS = 5
RESTARTS = 20  # of ELM-FS; half its default


def nonlinear_hint(model: Any, X: Any, y: Any) -> str:
    """One sentence if ELM-FS has less than half of the honest error; "" otherwise.

    A single search comes first. Its leave-one-out error is optimistic: on noise of 40 rows it can
    be a third of the honest error. So only where it promises that much, the folds follow.
    """
    honest = model.honest_
    if honest is None or honest.measure not in ("squared error", "error rate"):
        return ""
    task = "classification" if is_classifier(model) else "regression"
    other = METHODS["elm-fs"].make(task, n_restarts=RESTARTS, validation=None)
    if other.expected_seconds(X) > SHORT:
        return ""
    try:
        path = fitted(other, X, y, {}).path_
        if not part_of(path.error(path.choose("min")), honest.error):
            return ""
        found = fitted(other.set_params(validation=FOLDS), X, y, {}).honest_
    except InputError:  # as for data that ELM-FS cannot take; the answer stands without a hint
        return ""
    part = part_of(found.error, honest.error)
    if not part or found.error >= honest.interval[0]:
        return ""
    features = f"{found.size} feature{'s' * (found.size != 1)}"
    return (
        f"a nonlinear model (elm-fs) on {features} has less than {part} of this error on new data: "
        "use --method auto."
    )
