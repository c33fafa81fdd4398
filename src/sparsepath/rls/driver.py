"""Run one search: start, stopping, resuming."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sparsepath.base import Stop
from sparsepath.errors import InputError, warn_user
from sparsepath.path.steps import Move
from sparsepath.rls.checkpoint import Checkpoint
from sparsepath.rls.constraints import Constraints
from sparsepath.rls.design import Design
from sparsepath.rls.engines import make_forward_search, make_model
from sparsepath.rls.folds.elimination import FoldElimination
from sparsepath.rls.folds.moments import SplitSums
from sparsepath.rls.history import Rule, SearchTrail
from sparsepath.rls.leave_one_out.elimination import Elimination
from sparsepath.rls.leave_one_out.forward_path import ForwardPath, ForwardSearch
from sparsepath.rls.model import Model
from sparsepath.rls.parameters import SearchSpec
from sparsepath.rls.searches import EPSILON, SEARCHES
from sparsepath.rls.starting_orders import starting_orders
from sparsepath.rls.stopping import NoMistakes, StopRule, TimeLimit, begun
from sparsepath.rls.training import RidgeProducts
from sparsepath.rls.update import Update
from sparsepath.system.arrays import Floats


def run(
    design: Design,
    Y: Floats,
    alpha: float,
    spec: SearchSpec,
    *,
    trail: SearchTrail | None = None,
    watch: Callable[[SearchTrail], object] | None = None,
    checkpoint: str | Path | None = None,
    sums: SplitSums | None = None,
) -> SearchTrail:
    """Run a search and record the results on the trail, also if it is interrupted.

    Pass an empty ``trail`` to keep the results of an interrupted search. ``watch`` is called with
    the trail after every update; a true value stops the search. ``checkpoint`` is a file from which
    the search resumes and in which its moves are saved; ``sums`` is the result of ``make_sums``, if
    known.
    """
    if spec.search not in SEARCHES:
        raise InputError(f"search={spec.search!r}; use one of {', '.join(SEARCHES)}.")
    if spec.search == "exact":
        _check_exact(spec, design)
    trail = SearchTrail() if trail is None else trail
    keeper, earlier = _keeper(design, Y, alpha, spec, checkpoint), list[Move]()
    if keeper is not None:
        earlier = keeper.read()

    def note(trail: SearchTrail) -> object:
        if keeper is not None:
            keeper.write(trail)
        return watch is not None and watch(trail)

    alone = keeper is None and watch is None
    trail.equip(None if alone else note, _rules(design, Y, alpha, spec), spec.backward)
    try:
        plain_search = make_forward_search(design, Y, alpha, spec)
        if plain_search is not None and _forward_path(plain_search, trail, spec, earlier):
            return trail
        sets, plain = spec.sets(design.constant), replace(spec, form="passes")
        trail.hold_to(sets.admits)
        model = make_model(design, Y, alpha, spec, sums)
        if keeper is not None:
            keeper.remind(model)
        model = _begin_below(model, sets, spec, lambda: make_model(design, Y, alpha, plain, sums))
        trail.form = model.form
        ended = _begin(model, trail, sets, design, spec)
        if keeper is not None:
            keeper.check(earlier, trail.start)
        if not (ended or _make_again(model, trail, earlier, exchanges=spec.search == "swap")):
            options: dict[str, Any] = {}
            if spec.search in EPSILON:
                options = {"epsilon": spec.epsilon}
            elif spec.search == "strong":
                options = {
                    "orders": starting_orders(design, Y, spec, sums),
                    "seconds": spec.seconds,
                }
            elif spec.search == "exact":
                options = {
                    "products": lambda: RidgeProducts.of(design, Y, alpha),
                    "total": design.total,
                    "wanted": spec.wanted,
                    "seconds": spec.seconds,
                }
            SEARCHES[spec.search](model, trail, sets, **options)
    finally:
        if keeper is not None:
            keeper.write(trail, now=True)
    return trail


def _check_exact(spec: SearchSpec, design: Design) -> None:
    """Raise an error for options that exact search does not support."""
    refused = {
        f"loss={spec.loss.name!r}": spec.loss.name != "squared",
        "ranking": spec.queries is not None,
        "data that are read in passes": design.streamed,
        "feature_groups or categories": spec.groups,
        "parents": spec.parents,
        "feature_costs and budget": spec.costs,
        "start": spec.start,
        "stop": spec.rules,
    }
    for what, given in refused.items():
        if given:
            raise InputError(f"search='exact' does not support {what}; use search='strong'.")
    if spec.splits is not None:
        raise InputError(
            "search='exact' proves sets best by the penalised training error, not by "
            "cross-validation over folds or groups: use cv='loo' without groups, or "
            "search='strong'."
        )


def _forward_path(
    search: ForwardSearch, trail: SearchTrail, spec: SearchSpec, earlier: list[Move]
) -> bool:
    """Record the path of a compiled search; return False if earlier moves differ."""
    parts = search.in_parts(len(earlier))
    first = found = next(parts)
    made = [("add", feature) for feature in first.subset[: len(earlier)].tolist()]
    if [(move.action, move.feature) for move in earlier] != made:
        return False
    trail.form = search.form
    for found in chain([first], parts):
        if trail.take(found, earlier):
            return True
    _say_end(trail, found, spec)
    return True


def _say_end(trail: SearchTrail, found: ForwardPath, spec: SearchSpec) -> None:
    """Record why a compiled search has ended."""
    if len(found.subset) == spec.size:
        trail.stopped = Stop.MAX_FEATURES
    elif found.vanished:
        trail.stopped = Stop.VANISHED if trail.first_error > 0 else "target vanished"
    else:
        trail.stopped = Stop.NO_CANDIDATE


def _keeper(
    design: Design, Y: Floats, alpha: float, spec: SearchSpec, file: str | Path | None
) -> Checkpoint | None:
    if file is None:
        return None
    problem = {
        "data": design.name(Y),
        "fit_intercept": design.fit_intercept,
        "standardize": design.standardize,
        "alpha": alpha,
        "task": spec.name(),
    }
    return Checkpoint(file, problem, design.n_features)


def _begin_below(
    model: Model, sets: Constraints, spec: SearchSpec, instead: Callable[[], Model]
) -> Model:
    """Bring a backward model to the start of the search.

    If columns are collinear, another engine determines which to omit.
    """
    if not isinstance(model, Elimination | FoldElimination):
        return model
    try:
        model.begin(sets.in_order((*spec.forced, *(spec.start or spec.candidates))))
    except InputError:
        return instead()
    return model


def _begin(
    model: Model, trail: SearchTrail, sets: Constraints, design: Design, spec: SearchSpec
) -> bool:
    """Bring the model to the start of the search; return whether the search ends there.

    The forced features come first, then the start set, whose columns are recorded as moves; a
    backward search starts with all its features. Columns that are collinear with earlier ones are
    omitted.
    """
    down, begun = spec.backward, set(model.chosen)
    tried: set[frozenset[int]] = set()
    lost: list[int] = []

    def put_in(features: Iterable[int], noted: bool) -> bool:
        for feature in sets.in_order(features):
            unit = sets.units([feature])
            if unit in tried or feature in begun:
                continue
            tried.add(unit)
            update = Update("add", feature, np.nan)
            if not sets.has_parents(model.chosen, feature) or not _adds(model, feature):
                lost.append(feature)
            elif noted and trail.note(model, update, whole=False):
                return True
        return False

    put_in(spec.forced, noted=False)
    if lost := [i for i in spec.forced if i not in model.chosen]:
        raise InputError(
            f"forced: column {spec.named(lost)} is collinear with the other forced columns; force "
            "fewer of them or use a larger alpha."
        )
    if not down:
        trail.begin(model)
    given = spec.candidates if down and not spec.start else (*spec.forced, *spec.start)
    ended = put_in(given, noted=not down)
    if lost:
        _tell_lost(model, lost, design, spec)
    if down:
        trail.begin(model)
    trail.set_out(model)
    return ended


def _adds(model: Model, feature: int) -> bool:
    """Add a feature unless it is collinear; return whether it was added."""
    before = len(model.chosen)
    try:
        model.add(feature)
    except InputError:
        return False
    return len(model.chosen) > before


def _tell_lost(model: Model, lost: list[int], design: Design, spec: SearchSpec) -> None:
    """Warn about omitted columns, or raise an error if the search cannot start."""
    trains = [
        int(np.count_nonzero(design.weights[np.asarray(train)])) for train, _ in spec.splits or ()
    ]
    room = min(trains, default=design.n_counted - 1) - int(design.fit_intercept)
    if spec.backward and len(model.chosen) >= room:
        raise InputError(
            f"search='backward' starts with all columns, and {len(model.chosen) + len(lost)} are "
            f"more than the {room} that the samples can distinguish: use a larger alpha, another "
            "search, or start= with fewer columns."
        )
    what = "the search" if spec.backward else "the start set"
    warn_user(f"{what} starts without {spec.named(lost)}: collinear with earlier columns.")


def _make_again(model: Model, trail: SearchTrail, earlier: list[Move], *, exchanges: bool) -> bool:
    """Repeat the moves of an earlier run; return whether a rule or callback ends the search."""
    for move in earlier[len(trail.moves) :]:
        if (move.feature in model.chosen) == (move.action == "add"):
            continue  # it came or went with its group
        update = Update(move.action, move.feature, move.error)
        change = model.add if move.action == "add" else model.drop
        change(move.feature)
        half = exchanges and move.action == "drop"
        if trail.note(model, update, seconds=move.seconds, whole=not half):
            return True
    return False


def _rules(design: Design, Y: Floats, alpha: float, spec: SearchSpec) -> list[Rule]:
    """Return the stopping rules, bound to the problem."""
    judging = any(isinstance(rule, StopRule) and rule.judges_additions for rule in spec.rules)
    if judging and design.streamed:
        raise InputError(
            "MaxT (--significance) permutes residuals and needs data in memory; leave it out."
        )
    if judging and spec.backward:
        raise InputError("MaxT tests additions, but search='backward' makes none.")
    if judging and (spec.groups or spec.queries is not None):
        raise InputError(
            "MaxT tests single columns by their squared error over samples: use it "
            "without feature_groups, and not for ranking."
        )
    rules = [begun(rule, design, Y, alpha) for rule in spec.rules]
    if spec.seconds < np.inf:
        rules.append(TimeLimit(spec.seconds))
    return [*rules, NoMistakes(spec.wanted)] if spec.loss.counts else rules
