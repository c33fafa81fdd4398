"""Searches over subsets of features: which change is next, and when to stop.

The searches use only the interface of ``model.py``: ``best_addition``, ``best_removal``,
``best_exchange``, ``add`` and ``drop``. ``constraints.py`` says which features may be added and
removed. A ``SearchTrail`` records every change. Model and criterion are the engine's task, so the
same searches work with every engine.
"""

import numpy as np

from sparsepath.rls.constraints import Constraints
from sparsepath.rls.history import SearchTrail
from sparsepath.rls.model import Model
from sparsepath.rls.update import TIE_FLOOR, Update, limit


def forward(
    model: Model, trail: SearchTrail, sets: Constraints, *, epsilon: float | None = None
) -> None:
    """Add the best feature until the maximum size (greedy RLS).

    With ``epsilon``, stop before an addition that gains less.
    """
    while len(model.chosen) < sets.most:
        update = _addition(model, trail, sets)
        if update is None:
            return
        if epsilon is not None and model.error - update.error < epsilon:
            trail.stopped = "epsilon"
            return
        model.add(update.feature)
        if trail.note(model, update):
            return
    trail.stopped = "max_features"


def floating(
    model: Model, trail: SearchTrail, sets: Constraints, *, epsilon: float | None = None
) -> None:
    """Add the best feature, then remove features while that costs less than half of the gain.

    This is floating RLS, which stops when an addition gains less than ``epsilon``. Without
    ``epsilon`` it continues to the maximum size; beyond the minimum, where additions gain nothing,
    a feature is removed only if that beats the best subset of the smaller size.
    """
    gains, made = _so_far(trail, sets)
    while True:
        while leaving := sets.leaving(model.chosen):
            k = len(model.chosen)
            gain = gains.get(k, 0.0)
            below = model.error + 0.5 * gain if gain > 0 else np.inf
            removal = model.best_removal(leaving, below)
            if removal is None:
                break
            both = sets.units(model.chosen), sets.without(model.chosen, removal.feature)
            smaller = trail.steps.get(k - removal.count)
            least = None if smaller is None else smaller.error
            if both in made or not worthwhile(
                removal.error, model.error, gain, least, model.empty_error
            ):
                break
            made.add(both)
            model.drop(removal.feature)
            if trail.note(model, removal):
                return
        if len(model.chosen) >= sets.most:
            trail.stopped = "max_features"
            return
        before = model.error
        update = _addition(model, trail, sets)
        if update is None:
            return
        if epsilon is not None and before - update.error < epsilon:
            trail.stopped = "epsilon"
            return
        model.add(update.feature)
        gains[len(model.chosen)] = before - model.error
        if trail.note(model, update):
            return


Units = frozenset[int]


def _so_far(
    trail: SearchTrail, sets: Constraints
) -> tuple[dict[int, float], set[tuple[Units, Units]]]:
    """Return, from the updates so far, the gain of the last addition to each size, and past
    removals.

    A removal is not repeated from the same subset, even if rounding makes it look beneficial.
    """
    gains: dict[int, float] = {}
    made: set[tuple[Units, Units]] = set()
    error = trail.first_error
    for update, before, after in trail.history():
        if update.action == "add":
            gains[len(after)] = error - update.error
        else:
            made.add((sets.units(before), sets.units(after)))
        error = update.error
    return gains, made


def worthwhile(
    after: float, error: float, gain: float, smaller: float | None, empty: float
) -> bool:
    """Return whether a removal costs less than half the gain and beats the best subset of that
    size.

    ``after`` and ``error`` are the criterion after and before it, ``gain`` is the gain of the last
    addition to this size, and ``smaller`` the criterion of the best subset of the smaller size.
    """
    better = smaller is None or limit(after, empty) < smaller
    return better and (gain <= 0 or after - error <= 0.5 * gain)


def backward(model: Model, trail: SearchTrail, sets: Constraints) -> None:
    """Remove the least useful feature repeatedly, from all candidates down to the forced ones.

    The quality of small models depends on the larger ones; starting from all features costs one
    addition each.
    """
    while leaving := sets.leaving(model.chosen):
        update = model.best_removal(leaving)
        if update is None:
            trail.stopped = "nothing to drop"
            return
        model.drop(update.feature)
        if trail.note(model, update):
            return
    trail.stopped = "min_features"


def with_swaps(model: Model, trail: SearchTrail, sets: Constraints) -> None:
    """Add the best feature, then exchange single features while that helps."""
    met = _met(trail, sets)
    halfway = bool(trail.updates) and trail.updates[-1].action == "drop"
    if halfway and _complete(model, trail, sets, met):
        return
    while True:
        if _exchange(model, trail, sets, met):
            return
        if len(model.chosen) >= sets.most:
            trail.stopped = "max_features"
            return
        update = _addition(model, trail, sets)
        if update is None:
            return
        model.add(update.feature)
        met = {sets.units(model.chosen)}
        if trail.note(model, update):
            return


def _exchange(model: Model, trail: SearchTrail, sets: Constraints, met: set[Units]) -> bool:
    """Make the best exchange that helps, if any; return whether to stop.

    It must lower the criterion by more than rounding, and lead to a subset not visited since the
    last addition, so the loop ends.
    """
    while not model.vanished:
        best: tuple[int, Update] | None = None
        chosen = list(model.chosen)
        least = model.error * (1 - SWAP_GAIN) - TIE_FLOOR * model.empty_error
        for feature in sets.first_of_each(sets.leaving(chosen)):
            kept = sets.rest(chosen, feature)
            below = least if best is None else min(least, best[1].error * (1 + 2 * SWAP_GAIN))
            update = model.best_exchange(feature, sets.entering(kept, but=[feature]), below)
            if update is None or sets.with_feature(kept, update.feature) in met:
                continue
            if best is None or update.beats(best[1], SWAP_GAIN):
                best = feature, update
        if best is None:
            return False
        feature, update = best
        drop = Update("drop", feature)
        if trail.judges_additions:
            trial, kept = model.duplicate(), sets.rest(chosen, feature)
            trial.drop(feature)
            if trail.refuses(trial, update, sets.entering(kept, but=[feature])):
                return True
        model.drop(feature)
        if trail.note(model, drop, whole=False) or _enter(model, trail, sets, met, update):
            return True
    return False


def _complete(model: Model, trail: SearchTrail, sets: Constraints, met: set[Units]) -> bool:
    """Complete an exchange whose first half an earlier run made."""
    others = sets.entering(model.chosen, but=[trail.updates[-1].feature])
    costs, model.costs = model.costs, None
    update = model.best_addition(others)
    model.costs = costs
    return update is not None and _enter(model, trail, sets, met, update)


def _enter(
    model: Model, trail: SearchTrail, sets: Constraints, met: set[Units], update: Update
) -> bool:
    """Make the addition of an exchange; return whether to stop."""
    model.add(update.feature)
    met.add(sets.units(model.chosen))
    return trail.note(model, update)


def _met(trail: SearchTrail, sets: Constraints) -> set[Units]:
    """Return the subsets visited since the last addition that was not part of an exchange."""
    met, halfway = {sets.units(trail.start)}, False
    for update, _, after in trail.history():
        if update.action == "add":
            met = {*(met if halfway else ()), sets.units(after)}
        halfway = update.action == "drop"
    return met


def _addition(model: Model, trail: SearchTrail, sets: Constraints) -> Update | None:
    """Return the best addition, or None after recording the reason."""
    if model.vanished:
        trail.stopped = "residuals vanished" if model.empty_error > 0 else "target vanished"
        return None
    entering = sets.entering(model.chosen)
    update = model.best_addition(entering)
    if update is None:
        trail.stopped = sets.obstacle(model.chosen)
    elif trail.refuses(model, update, entering):
        return None
    return update


SWAP_GAIN = 1e-9  # relative gain that makes an exchange worth while
