"""Searches over sets of features: which change comes next, and when to stop.

A search asks its model two questions, ``find_best_update`` and ``apply_update``, its constraints
(``constraints.py``) which features may enter and leave, and tells a ``SearchTrail`` about every
change. The trail keeps the best set of each size, the moves and the clock, and says when to stop.
What is fitted and how it is judged is the model's business: exact leave-one-out
(``leave_one_out/model.py``) and folds (``splits/model.py``) are searched by the same code.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from sparsepath.rls.constraints import Constraints
from sparsepath.rls.trail import Exchanging, Model, SearchTrail
from sparsepath.rls.update import TIE_FLOOR, Update, limit


def forward(model: Model, trail: SearchTrail, sets: Constraints) -> None:
    """Add the best feature until the model has as many as it may have (greedy RLS)."""
    while len(model.chosen) < sets.most:
        update = _addition(model, trail, sets)
        if update is None:
            return
        model.apply_update(update)
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
            removal = model.find_best_update("drop", leaving, below)
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
            model.apply_update(removal)
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
        model.apply_update(update)
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


def worth_up_to(error: float, gain: float, smaller: float) -> float:
    """Above this no criterion after a removal is ``worthwhile``, but for rounding."""
    return smaller if gain <= 0 else min(smaller, error + 0.5 * gain)


def backward(model: Model, trail: SearchTrail, sets: Constraints) -> None:
    """Drop the feature that is missed least, from all candidates down to the forced ones.

    Every removal keeps to the sets that came before, so small models are as good as the larger
    ones they come from; starting from all features costs one addition each.
    """
    while leaving := sets.leaving(model.chosen):
        update = model.find_best_update("drop", leaving)
        if update is None:
            trail.stopped = "nothing to drop"
            return
        model.apply_update(update)
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
        model.apply_update(update)
        met = {sets.units(model.chosen)}
        if trail.note(model, update):
            return


def _exchange(model: Model, trail: SearchTrail, sets: Constraints, met: set[Units]) -> bool:
    """Make the best exchange while there is one that helps; return whether to stop.

    It must lower the criterion by more than rounding does, and lead to a set that was not ``met``
    since the last addition (before that, sets had fewer units), so that there is an end.
    Exchanges are tried on copies, so that the model is the same whatever was tried.
    """

    def clearly_below(error: float) -> float:
        return error * (1 - SWAP_GAIN) - TIE_FLOOR * model.empty_error

    def entering(chosen: list[int], feature: int) -> list[int]:
        return sets.entering([i for i in chosen if i != feature], but=[feature])

    exchanging = model if isinstance(model, Exchanging) else None
    while not model.vanished:
        best: tuple[Update, Update, Model, list[int]] | None = None
        least, chosen = clearly_below(model.error), list(model.chosen)
        for feature in sets.first_of_each(sets.leaving(chosen)):
            if exchanging is not None:
                bar = least if best is None else min(least, best[1].error)
                if not exchanging.may_exchange(feature, partial(entering, chosen, feature), bar):
                    continue
            trial, drop = model.duplicate(), Update("drop", feature, np.nan)
            trial.apply_update(drop)
            others = sets.entering(trial.chosen, but=[feature])
            update = trial.find_best_update("add", others)
            if update is None or not update.error < least:
                continue
            if sets.with_feature(trial.chosen, update.feature) in met:
                continue
            if best is None or update.beats(best[1], SWAP_GAIN):
                best = drop, update, trial, others
        if best is None:
            return False
        drop, update, trial, others = best
        if trail.refuses(trial, update, others):
            return True
        model.apply_update(drop)
        if trail.note(model, drop, whole=False) or _complete(model, trail, sets, met):
            return True
    return False


def _complete(model: Model, trail: SearchTrail, sets: Constraints, met: set[Units]) -> bool:
    """Make the second half of an exchange, after the drop; return whether to stop."""
    others = sets.entering(model.chosen, but=[trail.updates[-1].feature])
    update = model.find_best_update("add", others)
    if update is None:
        return False
    model.apply_update(update)
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
    update = model.find_best_update("add", entering)
    if update is None:
        trail.stopped = sets.obstacle(model.chosen)
    elif trail.refuses(model, update, entering):
        return None
    return update


SWAP_GAIN = 1e-9  # relative gain that makes an exchange worth while
SEARCHES: dict[str, Callable[..., None]] = {
    "forward": forward,
    "floating": floating,
    "backward": backward,
    "swap": with_swaps,
}
