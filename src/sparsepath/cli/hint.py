"""Whether another method is far better than the linear model that was found."""

from typing import Any

from sklearn.base import is_classifier

from sparsepath.assessment.repetitions import fit_clone
from sparsepath.errors import InputError
from sparsepath.methods import METHODS
from sparsepath.methods.auto_selector import part_of

SHORT = 0.5  # CPU seconds that one search for the hint may take by its estimate
FOLDS = 5
NOTABLE = 0.85  # part of the error below which another method is worth a line
# By name: what it is called in a sentence, and its parameters; half the default restarts.
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "grafting": ("grafting", {}),
    "elm-fs": ("a nonlinear model (elm-fs)", {"n_restarts": 20}),
}


def method_hint(model: Any, X: Any, y: Any) -> str:
    """One sentence on the best other method if it is clearly better; "" otherwise."""
    honest = model.honest_
    if honest is None or honest.measure not in ("squared error", "error rate"):
        return ""
    found = {name: _honest(name, model, X, y) for name in OTHERS}
    better = {name: one for name, one in found.items() if one is not None}
    if not better:
        return ""
    name, best = min(better.items(), key=lambda item: item[1].error)
    features = f"{best.size} feature{'s' * (best.size != 1)}"
    part = part_of(best.error, honest.error)
    has = f"less than {part}" if part else f"{best.error / honest.error:.0%}"
    return (
        f"{OTHERS[name][0]} on {features} has {has} of this error on new data: use --method auto."
    )


def _honest(name: str, model: Any, X: Any, y: Any) -> Any:
    """The honest error of another method if it is clearly below that of the model; else None.

    A single search comes first. The criterion of ELM-FS is optimistic: on noise of 40 rows it can
    be a third of the honest error. So only where it promises that much, the folds follow.
    """
    honest = model.honest_
    task = "classification" if is_classifier(model) else "regression"
    other = METHODS[name].make(task, validation=None, **OTHERS[name][1])
    if other.expected_seconds(X) > SHORT:
        return None
    try:
        path = fit_clone(other, X, y, {}).path_
        if path.error(path.choose("min")) >= NOTABLE * honest.error:
            return None
        found = fit_clone(other.set_params(validation=FOLDS), X, y, {}).honest_
    except InputError:  # as for data that a method cannot take; the answer stands without a hint
        return None
    clear = found.error < min(NOTABLE * honest.error, honest.interval[0])
    return found if clear and found.measure == honest.measure else None
