"""One search, from its task to its trail: where it begins, what ends it, how it goes on later."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain, takewhile
from pathlib import Path

import numpy as np

from sparsepath.arrays import Floats
from sparsepath.errors import InputError, warn_user
from sparsepath.rls.checkpoint import Checkpoint
from sparsepath.rls.constraints import Constraints
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.design import Design
from sparsepath.rls.forms import Form, form_for
from sparsepath.rls.leave_one_out.by_products import ProductSearch, by_gram
from sparsepath.rls.leave_one_out.elimination import Elimination
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.rls.leave_one_out.fused import Fused
from sparsepath.rls.leave_one_out.loss_search import search_by_loss
from sparsepath.rls.leave_one_out.model import State
from sparsepath.rls.leave_one_out.numbers import Whole
from sparsepath.rls.leave_one_out.swaps import SWAP_PRICE, Chain, CompiledSwaps, told
from sparsepath.rls.leave_one_out.whole import is_short, search_in_parts, whole_search
from sparsepath.rls.leave_one_out.whole_floating import forward_parts
from sparsepath.rls.models import folds_of, is_plain, make_model
from sparsepath.rls.pairs.queries import DisagreementModel
from sparsepath.rls.pairs.whole import is_short as is_short_by_order
from sparsepath.rls.pairs.whole import whole_search as search_by_order
from sparsepath.rls.search import SEARCHES, SWAP_GAIN, worth_up_to, worthwhile
from sparsepath.rls.splits.blocks import whole_search as search_by_blocks
from sparsepath.rls.splits.elimination import FoldElimination
from sparsepath.rls.splits.model import FoldModel
from sparsepath.rls.splits.sums import SplitSums
from sparsepath.rls.splits.whole import is_short as is_short_over
from sparsepath.rls.splits.whole import whole_search as search_over
from sparsepath.rls.stopping import NO_MISTAKES, NoMistakes, StopRule, begun
from sparsepath.rls.task import Task
from sparsepath.rls.trail import Model, Rule, SearchTrail
from sparsepath.rls.update import Update, marked, pick
from sparsepath.rls.wrappers.retold import Retold
from sparsepath.running import Stop
from sparsepath.steps import Move


def run(
    design: Design,
    Y: Floats,
    alpha: float,
    task: Task,
    *,
    trail: SearchTrail | None = None,
    tell: Callable[[], object] | None = None,
    watch: Callable[[SearchTrail], object] | None = None,
    checkpoint: str | Path | None = None,
    sums: SplitSums | None = None,
) -> SearchTrail:
    """Search, and leave on the trail what was found, whenever an interrupt comes.

    An empty ``trail`` is for a caller who wants to see it whatever happens. ``tell`` and ``watch``,
    the second with the trail, are called after every update; a true value ends the search.
    ``checkpoint`` is a file from which the search goes on, and in which its moves are kept;
    ``sums`` are those of ``make_sums``, if they are known.
    """
    if task.search not in SEARCHES:
        raise InputError(f"search={task.search!r}; use one of {', '.join(SEARCHES)}.")
    trail = SearchTrail() if trail is None else trail
    keeper, earlier = _keeper(design, Y, alpha, task, checkpoint), list[Move]()
    if keeper is not None:
        earlier = keeper.read()

    def tell_all(trail: SearchTrail) -> object:
        if keeper is not None:
            keeper.write(trail)
        if tell is not None and tell():
            return True
        return watch is not None and watch(trail)

    alone = keeper is None and tell is None and watch is None
    trail.equip(None if alone else tell_all, _rules(design, Y, alpha, task), task.backward)
    try:
        done: bool | None = _at_once(design, Y, alpha, task, trail, earlier)
        if done is None:
            done = _by_blocks(design, Y, alpha, task, trail, earlier, sums)
        if done:
            return trail
        sets, plain = task.sets(design.constant), replace(task, form="bounds")
        trail.hold_to(sets.admits)
        model = make_model(design, Y, alpha, task, sums)
        if isinstance(model, Fused | State) and (form := _exchanges_at_once(design, Y, task)):
            model = Retold(model, Chain(design, Y, alpha, task.size), str(form))
        if keeper is not None:
            keeper.remind(model)
        model = _begin_below(model, sets, task, lambda: make_model(design, Y, alpha, plain, sums))
        trail.form = getattr(model, "form", "")
        if done is None:
            done = _over_splits(model, trail, design, task, earlier)
        else:
            _bring(model, trail)
        ended = bool(done)
        if done is None:
            ended = _begin(model, trail, sets, design, task)
            if keeper is not None:
                keeper.check(earlier, trail.start)
        if not (ended or _make_again(model, trail, earlier, exchanges=task.search == "swap")):
            options = {"epsilon": task.epsilon} if task.search == "floating" else {}
            SEARCHES[task.search](model, trail, sets, **options)
    finally:
        if keeper is not None:
            keeper.write(trail, now=True)
    return trail


def _at_once(
    design: Design, Y: Floats, alpha: float, task: Task, trail: SearchTrail, earlier: list[Move]
) -> bool | None:
    """Search all at once, if that is a matter of milliseconds.

    Return whether it came to its end, or has to go on step by step; None if nothing was done.
    """
    if task.search == "swap":
        return _with_swaps(design, Y, alpha, task, trail, earlier)
    loss, floating = task.loss, task.search == "floating"
    known = loss.bounded or (isinstance(loss, Loss) and loss.carried is not None and not floating)
    if not known or not is_plain(design, task) or task.splits is not None:
        return None
    form = form_for(
        design,
        loss=loss,
        steps=task.size,
        targets=Y.shape[1],
        once=True,
        memory=task.memory,
    )
    if not form.whole:
        return None
    if floating:
        return _floating(design, Y, alpha, task, trail, earlier, form)
    allowed = marked(task.candidates, design.n_features)
    problem, clean = (design, Y, alpha, task.size, allowed), False
    if isinstance(loss, Loss) and not loss.bounded:
        found, clean = search_by_loss(*problem, loss, task.wanted, compiled=form.compiled)
        parts = iter([found])
    elif form.name == "gram":
        parts = ProductSearch(*problem, by_gram(design)).in_parts(len(earlier))
    elif is_short(design):
        parts = iter([whole_search(*problem)])
    else:
        parts = search_in_parts(*problem, least=len(earlier))
    first = found = next(parts)
    made = [("add", feature) for feature in first.subset[: len(earlier)].tolist()]
    if [(move.action, move.feature) for move in earlier] != made:
        return None
    trail.form = str(form)
    for found in chain([first], parts):
        if trail.take(found, earlier):
            return True
    _say_end(trail, len(found.subset), found.vanished, task.size, clean)
    return True


def _floating(
    design: Design,
    Y: Floats,
    alpha: float,
    task: Task,
    trail: SearchTrail,
    earlier: list[Move],
    form: Form,
) -> bool | None:
    """A floating search at once, up to where a removal is worth while; see ``_at_once``."""
    given = design, Y, alpha, task.size, marked(task.candidates, design.n_features)
    added = list(takewhile(lambda move: move.action == "add", earlier))
    looked = 0
    for found, removals in forward_parts(*given, least=len(added), gram=form.name == "gram"):
        made = zip(added, found.subset.tolist(), strict=False)
        if any(move.feature != feature for move, feature in made):
            return None
        trail.form, errors = str(form), found.errors
        for k in range(looked, len(errors)):
            last = k + 1 == len(errors)
            gain = errors[k - 1] - errors[k] if k else 0.0
            than = errors[k], gain, errors[k - 1], errors[0]
            most = worth_up_to(*than[:3])
            if places := [i for i, low in enumerate(removals.least_without(k)) if low <= most]:
                without = removals.errors_without(k, places)
                removal = pick("drop", found.subset[places], without, errors[0])
                if removal is not None and worthwhile(removal.error, *than):
                    return trail.take(found.up_to(k), earlier)
            if task.epsilon is not None and not last and errors[k] - errors[k + 1] < task.epsilon:
                if not trail.take(found.up_to(k), earlier):
                    trail.stopped = "epsilon"
                return True
        looked = len(errors)
        if trail.take(found, earlier):
            return True
    _say_end(trail, len(found.subset), found.vanished, task.size)
    return True


def _exchanges_at_once(design: Design, Y: Floats, task: Task) -> Form | None:
    """The form of a search with exchanges whose numbers are those of one at once, if it is."""
    if task.search != "swap" or not task.loss.bounded or task.splits is not None:
        return None
    if not is_plain(design, task):
        return None
    form = form_for(
        design,
        loss=task.loss,
        steps=task.size,
        targets=Y.shape[1],
        once=True,
        exchanges=True,
        memory=task.memory,
    )
    return form if form.whole else None


def _with_swaps(
    design: Design, Y: Floats, alpha: float, task: Task, trail: SearchTrail, earlier: list[Move]
) -> bool | None:
    """A search with exchanges at once; see ``_at_once``."""
    form = _exchanges_at_once(design, Y, task)
    if form is None or not (form.compiled or SWAP_PRICE.is_paid()):
        return None
    allowed = marked(task.candidates, design.n_features) & ~design.constant
    of = Centred.of(design, Y)
    search = CompiledSwaps(design, of, alpha, task.size, allowed.nonzero()[0])
    moves = search.moves(SWAP_GAIN)
    made = [(move.action, move.feature) for move in earlier]
    if moves is None or [(move.action, move.feature) for move in moves[: len(made)]] != made:
        return None
    trail.form = str(form)
    stated = told(Chain(design, Y, alpha, task.size), moves)
    empty = next(stated)
    trail.begin(empty)
    trail.set_out(empty)
    for place, (model, update) in enumerate(zip(stated, moves, strict=True)):
        seconds = earlier[place].seconds if place < len(earlier) else None
        if trail.note(model, update, seconds=seconds, whole=update.action == "add"):
            return True
    _say_end(trail, search.size, search.vanished, task.size)
    return True


def _bring(model: Model, trail: SearchTrail) -> None:
    """Bring an empty model to the set where a search at once has ended."""
    for feature in trail.steps[trail.size].subset:
        model.apply_update(Update("add", feature, np.nan))


def _say_end(
    trail: SearchTrail, found: int, vanished: bool, size: int, clean: bool = False
) -> None:
    """Why a search at once has ended, with so many features."""
    if found == size:
        trail.stopped = Stop.MAX_FEATURES
    elif vanished:
        trail.stopped = Stop.VANISHED if trail.first_error > 0 else "target vanished"
    else:
        trail.stopped = NO_MISTAKES if clean else Stop.NO_CANDIDATE


def _over_splits(
    model: Model, trail: SearchTrail, design: Design, task: Task, earlier: list[Move]
) -> bool | None:
    """Search over splits at once, as far as that goes, and bring the model there.

    Return whether that was the end; None if nothing was done.
    """
    if task.search != "forward" or not is_plain(design, task):
        return None
    given, clean = (task.size, marked(task.candidates, design.n_features)), False
    if type(model) is FoldModel and is_short_over(model):
        found, complete = search_over(model, *given)
    elif isinstance(model, DisagreementModel) and is_short_by_order(model):
        found, complete, clean = search_by_order(model, *given, task.wanted)
    else:
        return None
    done = _taken(found, complete, trail, task, earlier, clean)
    if not done:
        model.refit([] if done is None else found.subset.tolist())
    return done


def _taken(
    found: Whole,
    complete: bool,
    trail: SearchTrail,
    task: Task,
    earlier: list[Move],
    clean: bool = False,
) -> bool | None:
    """Put what was found over splits on the trail; see ``_at_once``."""
    made = zip(earlier, found.subset.tolist(), strict=False)
    if any((move.action, move.feature) != ("add", feature) for move, feature in made):
        return None
    if trail.take(found, earlier):
        return True
    if complete:
        _say_end(trail, len(found.subset), found.vanished, task.size, clean)
    return complete


def _by_blocks(
    design: Design,
    Y: Floats,
    alpha: float,
    task: Task,
    trail: SearchTrail,
    earlier: list[Move],
    sums: SplitSums | None,
) -> bool | None:
    """Search over folds at once by what is left of the test rows; see ``_at_once``."""
    folds = folds_of(design, task)
    if folds is None:
        return None
    given = (task.pooled, task.size, marked(task.candidates, design.n_features))
    found, complete = search_by_blocks(design, Y, alpha, folds, *given, sums=sums)
    return _taken(found, complete, trail, task, earlier)


def _keeper(
    design: Design, Y: Floats, alpha: float, task: Task, file: str | Path | None
) -> Checkpoint | None:
    if file is None:
        return None
    problem = {
        "data": design.name(Y),
        "fit_intercept": design.fit_intercept,
        "standardize": design.standardize,
        "alpha": alpha,
        "task": task.name(),
    }
    return Checkpoint(file, problem, design.n_features)


def _begin_below(
    model: Model, sets: Constraints, task: Task, instead: Callable[[], Model]
) -> Model:
    """Bring a model that only drops to where the search begins.

    If columns are collinear, another kind of model finds out which have to be left out.
    """
    if not isinstance(model, Elimination | FoldElimination):
        return model
    try:
        model.begin(sets.in_order((*task.forced, *(task.start or task.candidates))))
    except InputError:
        return instead()
    return model


def _begin(model: Model, trail: SearchTrail, sets: Constraints, design: Design, task: Task) -> bool:
    """Bring the model to where the search begins; return whether that was the end already.

    The forced features are in every model, so they come before the first step. Then come the start
    set, whose columns are moves like others, or, going backward, all that the search begins with.
    A column of these that is collinear with those before it is left out.
    """
    down, begun = task.backward, set(model.chosen)
    tried: set[frozenset[int]] = set()
    lost: list[int] = []

    def put_in(features: Iterable[int], noted: bool) -> bool:
        for feature in sets.in_order(features):
            unit = sets.units([feature])
            if unit in tried or feature in begun:
                continue
            tried.add(unit)
            update = Update("add", feature, np.nan)
            if not sets.has_parents(model.chosen, feature) or not _adds(model, update):
                lost.append(feature)
            elif noted and trail.note(model, update, whole=False):
                return True
        return False

    put_in(task.forced, noted=False)
    if lost := [i for i in task.forced if i not in model.chosen]:
        raise InputError(
            f"forced: column {task.named(lost)} is collinear with the other forced columns; force "
            "fewer of them or use a larger alpha."
        )
    if not down:
        trail.begin(model)
    given = task.candidates if down and not task.start else (*task.forced, *task.start)
    ended = put_in(given, noted=not down)
    if lost:
        _tell_lost(model, lost, design, task)
    if down:
        trail.begin(model)
    trail.set_out(model)
    return ended


def _adds(model: Model, update: Update) -> bool:
    """Make an addition, unless it is collinear with what is there; return whether it was made."""
    before = len(model.chosen)
    try:
        model.apply_update(update)
    except InputError:
        return False
    return len(model.chosen) > before


def _tell_lost(model: Model, lost: list[int], design: Design, task: Task) -> None:
    """Say which columns the search begins without, or that it cannot begin."""
    trains = [
        int(np.count_nonzero(design.weights[np.asarray(train)])) for train, _ in task.splits or ()
    ]
    room = min(trains, default=design.n_counted - 1) - int(design.fit_intercept)
    if task.backward and len(model.chosen) >= room:
        raise InputError(
            f"search='backward' begins with all columns, and {len(model.chosen) + len(lost)} are "
            f"more than the samples can tell apart, which is {room}: use a larger alpha, another "
            "search, or start= with fewer columns."
        )
    what = "the search" if task.backward else "the start set"
    warn_user(f"{what} begins without {task.named(lost)}: collinear with the columns before.")


def _make_again(model: Model, trail: SearchTrail, earlier: list[Move], *, exchanges: bool) -> bool:
    """Make the moves of an earlier run; return whether a rule or the watcher ends them."""
    for move in earlier[len(trail.moves) :]:
        if (move.feature in model.chosen) == (move.action == "add"):
            continue  # it came or went with its group
        update = Update(move.action, move.feature, move.error)
        model.apply_update(update)
        half = exchanges and move.action == "drop"
        if trail.note(model, update, seconds=move.seconds, whole=not half):
            return True
    return False


def _rules(design: Design, Y: Floats, alpha: float, task: Task) -> list[Rule]:
    """The rules, told of the problem."""
    judging = any(isinstance(rule, StopRule) and rule.judges_additions for rule in task.rules)
    if judging and design.streamed:
        raise InputError("MaxT shuffles residuals and needs data in memory; use another rule.")
    if judging and task.backward:
        raise InputError("MaxT judges additions, and search='backward' makes none.")
    if judging and (task.groups or task.queries is not None):
        raise InputError(
            "MaxT tests single columns by their squared error over samples: use it "
            "without feature_groups, and not for ranking."
        )
    rules = [begun(rule, design, Y, alpha) for rule in task.rules]
    return [*rules, NoMistakes(task.wanted)] if task.loss.counts else rules
