"""Selection paths of regularised least squares: the data checked, a search run, a path returned."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.data.blocks import Floats, row_blocks, turned
from sparsepath.data.door import some_of
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError, warn_user
from sparsepath.path import CUT, SelectionPath
from sparsepath.rls.checkpoint import Checkpoint
from sparsepath.rls.constraints import Constraints
from sparsepath.rls.criteria.losses import Criterion, Loss
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.design import Design
from sparsepath.rls.forms import FORMS, TURNED_FROM, Form, default_memory, form_for
from sparsepath.rls.leave_one_out.additions import BoundFinder, CacheFinder, EveryFinder, Follower
from sparsepath.rls.leave_one_out.elimination import Elimination
from sparsepath.rls.leave_one_out.fused import Fused
from sparsepath.rls.leave_one_out.model import Finder, State
from sparsepath.rls.leave_one_out.whole import whole_search
from sparsepath.rls.pairs.model import LeavePairOut, PairModel, RankModel
from sparsepath.rls.pairs.queries import DisagreementModel, QuerySums
from sparsepath.rls.search import SEARCHES, Model, Trail
from sparsepath.rls.splits.asked import Split, Splits, label_of, named
from sparsepath.rls.splits.elimination import FoldElimination
from sparsepath.rls.splits.losses import FoldLossModel
from sparsepath.rls.splits.model import FoldModel
from sparsepath.rls.splits.sums import SplitSums
from sparsepath.rls.stopping import NoMistakes, Rule, StopRule, begun
from sparsepath.rls.streamed.design import StreamDesign
from sparsepath.rls.streamed.leave_one_out import Streamed
from sparsepath.rls.update import Costs, Update
from sparsepath.rls.wrappers.groups import Grouped
from sparsepath.steps import Move

RESERVED = 128  # features for which there is room from the start

STOPPED = {
    "no candidate left": "every feature left is constant, collinear with the chosen ones, or "
    "would let a sample decide its own prediction",
    "no group fits": "no group of columns fits into what is left of max_features",
    "held back": "every feature left comes after one, or is in a group with one, that cannot be "
    "chosen",
    "residuals vanished": "the chosen features already fit the target exactly",
    "target vanished": "the target varies so little that its squares are zero; give it in a "
    "smaller unit",
    "nothing to drop": "no feature can be dropped",
    "interrupted": "it was interrupted",
}


@dataclass(frozen=True)
class Task:
    """What is asked of a search; the same for every penalty.

    ``size`` is the one to which the search goes, and ``most`` the largest that a backward path may
    have; ``names`` are for messages.
    """

    search: str = "forward"
    size: int = 1
    most: float = np.inf
    loss: Criterion = SQUARED
    candidates: tuple[int, ...] = ()
    forced: tuple[int, ...] = ()
    start: tuple[int, ...] = ()
    parents: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    epsilon: float | None = None
    splits: Sequence[Split] | None = None
    pooled: bool = False
    queries: NDArray[np.intp] | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    costs: Costs | None = None
    rules: tuple[Rule, ...] = ()
    form: str = "auto"
    memory: float | None = None
    names: tuple[str, ...] | None = None
    wanted: int = 0  # a size that was asked for: the search goes on to it, whatever the error

    @property
    def backward(self) -> bool:
        return self.search == "backward"

    def named(self, columns: Iterable[int]) -> str:
        """Columns in a message."""
        listed = sorted(columns)
        return some_of(listed if self.names is None else [self.names[i] for i in listed])

    def name(self) -> str:
        """A short name for what decides the moves: equal moves, equal name."""
        plain = (self.search, self.size, self.loss.key, self.candidates, self.forced, self.epsilon)
        more = (self.pooled, self.groups, self.start, sorted(self.parents.items()))
        digest = hashlib.blake2b(repr((*plain, *more)).encode(), digest_size=12)
        if self.queries is not None:
            digest.update(b"ranking" + self.queries.tobytes())
        if self.splits is not None:
            digest.update(label_of(self.splits).encode())
        for train, test in self.splits or ():
            digest.update(np.asarray(train).tobytes() + b"/" + np.asarray(test).tobytes())
        if self.costs is not None:
            digest.update(self.costs.of.tobytes() + repr(self.costs.budget).encode())
        return digest.hexdigest()

    @property
    def criterion(self) -> str:
        """What the errors are: how samples are left out, and what is counted."""
        how = "leave-pair-out" if self.loss.pairs else "leave-one-out"
        if self.splits is not None:
            how = label_of(self.splits)
        if self.queries is not None and self.splits is not None:
            how = how.replace(" by groups", "")  # the folds of a ranking keep queries whole anyway
            queries = self.queries
            single = all(len(np.unique(queries[test])) == 1 for _, test in self.splits)
            if queries.any() and single and len(self.splits) > 1:
                how = "leave-query-out"
        return named(how, self.loss.label)


def make_design(
    X: Any,
    weights: Floats,
    threads: Threads,
    *,
    fit_intercept: bool = True,
    standardize: bool = False,
    n_blocks: int | None = None,
    memory: float | None = None,
) -> Design:
    """The data of a problem, ready for any target, penalty and search.

    Large data that do not lie in memory column by column as float64 are turned once, if a copy
    takes no more than ``memory`` bytes (default: a quarter of the machine's).
    """
    limit = default_memory() if memory is None else memory
    if isinstance(X, np.ndarray) and X.size >= TURNED_FROM and 8 * X.size <= limit:
        X = turned(X, threads)
    return Design(
        row_blocks(X, n_blocks),
        weights,
        threads,
        fit_intercept=fit_intercept,
        standardize=standardize,
    )


def make_sums(design: Design, Y: Floats, task: Task) -> SplitSums | None:
    """The sums of products over the parts of the task's splits, which serve every penalty."""
    if task.splits is None:
        return None
    splits = counted(design, Y, task, quiet=True).splits
    assert splits is not None
    if task.queries is None:
        sums = SplitSums(design, Y, splits)
    else:
        sums = QuerySums(design, Y, splits, task.queries)
    sums.memory = default_memory() if task.memory is None else task.memory
    return sums


def counted(design: Design, Y: Floats, task: Task, *, quiet: bool = False) -> Task:
    """The task with those splits only whose test part can be judged; a word if some cannot."""
    if task.splits is None:
        return task
    w, one = design.weights, np.zeros(design.n_samples, dtype=np.intp)
    queries = one if task.queries is None else task.queries
    tests = [np.arange(design.n_samples)[np.asarray(test)] for _, test in task.splits]
    needed = task.loss.needs
    counts = [task.loss.can_judge(Y[test], w[test], queries[test]) for test in tests]
    if all(counts) and counts:
        return task
    if not any(counts):
        raise InputError(
            f"cv: none of the {len(counts)} test parts has {needed}; use other splits, shuffled or "
            "stratified ones for instance."
        )
    if not quiet and task.queries is None:  # a query of one sample is no loss
        warn_user(
            f"{len(counts) - sum(counts)} of {len(counts)} test parts do not have {needed} and are "
            "left out; the errors are means over the others."
        )
    splits = Splits(tuple(task.splits), label_of(task.splits))
    return replace(task, splits=splits.only(counts))


def make_model(
    design: Design, Y: Floats, alpha: float, task: Task, sums: SplitSums | None = None
) -> Model:
    """The empty model, judged as the task asks; ``sums`` are those of ``make_sums``, if known."""
    model: State | Fused | Elimination | FoldModel | LeavePairOut | Streamed
    sums = make_sums(design, Y, task) if sums is None else sums
    if task.splits is None or sums is None:
        model = _left_out_singly(design, Y, alpha, task)
    elif task.loss.by_sums:
        plain = task.form == "auto" and not design.streamed
        dropping = task.backward and not task.groups and plain
        kind = FoldElimination if dropping else FoldModel
        model = kind(design, Y, alpha, task.splits, task.pooled, sums)
    elif task.loss.pairs:
        one = np.zeros(design.n_samples, dtype=np.intp)
        queries = one if task.queries is None else task.queries
        model = DisagreementModel(design, Y, alpha, task.pooled, sums, queries)
    else:
        model = FoldLossModel(design, Y, alpha, task.splits, task.pooled, _loss(task), sums)
    model.costs = task.costs
    if not task.groups:
        return model
    if design.streamed and not isinstance(model, FoldModel):
        raise InputError(
            "feature_groups with leave-one-out need data in memory; use cv=10 for data that are "
            "read in passes."
        )
    if not isinstance(model, State | FoldModel):
        raise InputError("leaving out pairs goes with single columns, not with feature_groups.")
    return Grouped(model, [list(group) for group in task.groups])


def _left_out_singly(
    design: Design, Y: Floats, alpha: float, task: Task
) -> State | Fused | Elimination | LeavePairOut | Streamed:
    """The models without splits: samples, or pairs of samples, are left out one at a time."""
    if isinstance(design, StreamDesign):
        return Streamed(design, alpha, _loss(task), task.size)
    if task.loss.pairs:  # of classes, or of queries
        coded = task.loss.coded
        return PairModel(design, Y, alpha) if coded else RankModel(design, Y, alpha, task.loss)
    loss = _loss(task)
    if task.backward and loss.bounded and not task.groups and task.form == "auto":
        return Elimination(design, Y, alpha, loss)
    if task.form not in FORMS:
        raise InputError(f"form={task.form!r} is not known; use one of {', '.join(FORMS)}.")
    form = form_for(
        design,
        loss=loss,
        n_targets=Y.shape[1],
        steps=task.size,
        grouped=bool(task.groups),
        asked=task.form,
        memory=task.memory,
    )
    model: State | Fused
    if form.name == "fused":
        model = Fused(design, Y, alpha, task.size, form.compiled)
    else:
        finder = _finder(form, task.size)
        if isinstance(finder, Follower) and not task.backward:
            finder.prepare(design)
        model = State(design, Y, alpha, loss, finder)
        model.reserve(min(task.size, RESERVED))
    model.form = str(form)
    return model


def _loss(task: Task) -> Loss:
    """The criterion of a task without pairs."""
    assert isinstance(task.loss, Loss)
    return task.loss


def _finder(form: Form, steps: int) -> Finder:
    if form.name == "cache":
        return CacheFinder(steps)
    if form.name == "blocks":
        return EveryFinder()
    return BoundFinder("auto" if form.name == "bounds" else form.name, steps)


def run(
    design: Design,
    Y: Floats,
    alpha: float,
    task: Task,
    *,
    watch: Callable[[Trail], object] | None = None,
    checkpoint: str | Path | None = None,
    sums: SplitSums | None = None,
) -> Trail:
    """Search; what was found so far is returned even if the search is interrupted."""
    if task.search not in SEARCHES:
        raise InputError(f"search={task.search!r}; use one of {', '.join(SEARCHES)}.")
    keeper = None
    if checkpoint is not None:
        problem = {
            "data": design.name(Y),
            "fit_intercept": design.fit_intercept,
            "standardize": design.standardize,
            "alpha": alpha,
            "task": task.name(),
        }
        keeper = Checkpoint(checkpoint, problem, design.n_features)
    earlier = keeper.read() if keeper is not None else []

    def watch_all(trail: Trail) -> object:
        if keeper is not None:
            keeper.write(trail)
        return watch(trail) if watch is not None else False

    sets = constraints_of(task, design)
    rules = _rules(design, Y, alpha, task)
    trail = Trail(watch_all, rules, sets.admits, backward=task.backward)
    plain = replace(task, form="bounds")
    try:
        if _at_once(design, Y, alpha, task, trail, earlier):
            return trail
        model = make_model(design, Y, alpha, task, sums)
        model = _begin_below(model, sets, task, lambda: make_model(design, Y, alpha, plain, sums))
        trail.form = getattr(model, "form", "")
        ended = _begin(model, trail, sets, design, task)
        if keeper is not None:
            keeper.check(earlier, trail.start)
        if not (ended or _make_again(model, trail, earlier, exchanges=task.search == "swap")):
            options = {"epsilon": task.epsilon} if task.search == "floating" else {}
            SEARCHES[task.search](model, trail, sets, **options)
    except KeyboardInterrupt:
        if not trail.steps and trail.passed is None:
            raise
        trail.stopped = "interrupted"
    finally:
        if keeper is not None:
            keeper.write(trail, now=True)
    return trail


def _at_once(
    design: Design, Y: Floats, alpha: float, task: Task, trail: Trail, earlier: list[Move]
) -> bool:
    """Search all at once, if that is a matter of milliseconds; return whether it was done."""
    judging = any(isinstance(rule, StopRule) and rule.judges_additions for rule in task.rules)
    bound = task.forced or task.start or task.parents or task.groups or task.costs or judging
    plain = task.search == "forward" and task.loss is SQUARED and task.form == "auto"
    parted = task.splits is not None or task.queries is not None
    if design.streamed or bound or not plain or parted:
        return False
    given = {"loss": task.loss, "n_targets": Y.shape[1], "steps": task.size}
    form = form_for(design, memory=task.memory, **given)
    if not form.whole:
        return False
    allowed = np.zeros(design.n_features, dtype=bool)
    allowed[list(task.candidates)] = True
    found = whole_search(design, Y, alpha, task.size, allowed, compiled=form.loaded)
    if [move.feature for move in earlier] != found.subset[: len(earlier)].tolist():
        return False
    trail.form = str(form)
    ended = len(found.subset) == task.size
    trail.take(found, "max_features" if ended else "no candidate left", earlier)
    return True


def constraints_of(task: Task, design: Design) -> Constraints:
    """What the sets on the path must hold to."""
    return Constraints(
        task.candidates,
        design.constant,
        forced=task.forced,
        groups=task.groups,
        parents=task.parents,
        costs=task.costs,
        most=task.most if task.backward else task.size,
    )


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


def _begin(model: Model, trail: Trail, sets: Constraints, design: Design, task: Task) -> bool:
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


def _make_again(model: Model, trail: Trail, earlier: list[Move], *, exchanges: bool) -> bool:
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


def finish(
    trail: Trail,
    design: Design,
    task: Task,
    y: ArrayLike,
    *,
    names: Sequence[str] | None,
    **about: Any,
) -> SelectionPath:
    """The selection path of a trail for targets y, with a warning if it ends before its time."""
    path = so_far(
        trail,
        design,
        task,
        names=names,
        error_kind="selection",
        data=data_of(trail, design, y),
        complete=trail.stopped not in CUT,
        stopped=trail.stopped,
        **about,
    )
    reason = STOPPED.get(trail.stopped)
    if trail.passed is not None:
        reason = f"{reason or 'it was stopped'} before it came down to max_features and the budget"
    if reason is not None:
        end = path.sizes[0 if task.backward else -1]
        warn_user(f"the path ends at size {end}: {reason}.")
    return path


def data_of(trail: Trail, design: Design, y: ArrayLike) -> dict[str, Any]:
    """What a path says of its data, and in which form they were searched."""
    return {
        "n_samples": design.n_samples,
        "n_features": design.n_features,
        "fingerprint": design.name(y),
        **({"form": trail.form} if trail.form else {}),
        **design.record(),
    }


def so_far(
    trail: Trail, design: Design, task: Task, *, names: Sequence[str] | None, **about: Any
) -> SelectionPath:
    """The path as it stands; if no set was met yet that may be on it, the last one met."""
    return SelectionPath(
        trail.steps or [step for step in [trail.passed] if step is not None],
        n_features=design.n_features,
        moves=trail.moves,
        start=trail.start,
        feature_names=names,
        criterion=task.criterion,
        **about,
    )
