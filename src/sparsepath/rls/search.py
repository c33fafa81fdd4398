"""Searches over sets of features: which change comes next, and when to stop.

Four searches over the interface of ``model.py``: ``best_addition``, ``best_removal``,
``best_exchange``, ``add`` and ``drop``. ``constraints.py`` says which features may enter and leave.
A ``SearchTrail`` records every change: the best set of each size, the moves, the clock, and when to
stop. What is fitted and how it is judged is the engine's business, so that every engine is searched
by the same functions.
"""

import numpy as np

from sparsepath.rls.constraints import Constraints
from sparsepath.rls.history import SearchTrail
from sparsepath.rls.model import Model
from sparsepath.rls.update import TIE_FLOOR, Update, limit


def forward(
    model: Model, trail: SearchTrail, sets: Constraints, *, epsilon: float | None = None
) -> None:
    """Add the best feature until the model has as many as it may have (greedy RLS).

    With ``epsilon`` it stops before an addition that gains less.
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
    """Add the best feature, then drop while that costs less than half of what the step gained.

    Floating RLS, which stops when an addition gains less than ``epsilon``. Without
    ``epsilon`` the search goes on as far as it may; beyond the minimum, where additions no longer
    gain anything, a feature is dropped only if that beats the best set known of the smaller size.
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
    """From the updates so far: what the last addition to each size gained, and the removals made.

    A removal is not made twice from the same set, even if rounding makes it look worth while.
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
    """Whether a removal costs less than half the gain and beats the best set of that size.

    ``after`` and ``error`` are the criterion after and before it, ``gain`` what the last addition
    to this size gained, ``smaller`` the criterion of the best set known of the smaller size.
    """
    better = smaller is None or limit(after, empty) < smaller
    return better and (gain <= 0 or after - error <= 0.5 * gain)


def backward(model: Model, trail: SearchTrail, sets: Constraints) -> None:
    """Drop the feature that is missed least, from all candidates down to the forced ones.

    Every removal keeps to the sets that came before, so small models are as good as the larger
    ones they come from; starting from all features costs one addition each.
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
    """Add the best feature, then exchange one chosen for one other feature while that helps."""
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
    """Make the best exchange while there is one that helps; return whether to stop.

    It must lower the criterion by more than rounding does, and lead to a set that was not ``met``
    since the last addition (before that, sets had fewer units), so that there is an end.
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
    """Make the second half of an exchange whose first half an earlier run made."""
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
    """From the updates so far: the sets met since the last addition that was no exchange."""
    met, halfway = {sets.units(trail.start)}, False
    for update, _, after in trail.history():
        if update.action == "add":
            met = {*(met if halfway else ()), sets.units(after)}
        halfway = update.action == "drop"
    return met


def _addition(model: Model, trail: SearchTrail, sets: Constraints) -> Update | None:
    """The best addition, or None with the reason noted."""
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
