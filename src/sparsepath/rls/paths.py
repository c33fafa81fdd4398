"""Selection paths of regularised least squares: the data checked, a search run, a path returned."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.data.blocks import Floats, row_blocks
from sparsepath.data.fingerprint import name_of
from sparsepath.data.threads import Threads
from sparsepath.errors import FileError, InputError, warn_user
from sparsepath.files import replacing
from sparsepath.path import SelectionPath
from sparsepath.rls.design import Design
from sparsepath.rls.finders import BoundFinder, CacheFinder, EveryFinder, Follower
from sparsepath.rls.fold_losses import FoldLossModel
from sparsepath.rls.folds import FoldModel
from sparsepath.rls.groups import Grouped
from sparsepath.rls.hierarchy import Hierarchy, Kept, complete
from sparsepath.rls.losses import Loss
from sparsepath.rls.pairs import LeavePairOut, PairModel, RankModel
from sparsepath.rls.queries import DisagreementModel, QuerySums, pairs_weigh
from sparsepath.rls.search import SEARCHES, Model, Trail
from sparsepath.rls.split_sums import SplitSums
from sparsepath.rls.splits import Split, Splits, has_order, label_of, named
from sparsepath.rls.state import Finder, State
from sparsepath.rls.stopping import Rule, StopRule, begun
from sparsepath.rls.update import Costs, Update
from sparsepath.steps import Move

FORMS = ("auto", "gram", "pass", "cache", "blocks")
CACHE_FROM = 1 << 20  # numbers in X from which the compiled cache search pays for its start
RESERVED = 128  # features for which there is room from the start
CHECKPOINT_SECONDS = 2.0

STOPPED = {
    "no candidate left": "every feature left is constant, collinear with the chosen ones, or "
    "would let a sample decide its own prediction",
    "residuals vanished": "the chosen features already fit the target exactly",
    "nothing to drop": "no feature can be dropped",
    "interrupted": "it was interrupted",
}


@dataclass(frozen=True)
class Task:
    """What is asked of a search; the same for every penalty."""

    search: str = "forward"
    size: int = 1
    loss: str = "squared"
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

    def name(self) -> str:
        """A short name for what decides the moves: equal moves, equal name."""
        plain = (self.search, self.size, self.loss, self.candidates, self.forced, self.epsilon)
        more = (self.pooled, self.groups, self.start, sorted(self.parents.items()))
        digest = hashlib.blake2b(repr((*plain, *more)).encode(), digest_size=12)
        if self.queries is not None:
            digest.update(b"ranking" + self.queries.tobytes())
        for train, test in self.splits or ():
            digest.update(np.asarray(train).tobytes() + b"/" + np.asarray(test).tobytes())
        if self.costs is not None:
            digest.update(self.costs.of.tobytes() + repr(self.costs.budget).encode())
        return digest.hexdigest()

    @property
    def criterion(self) -> str:
        """What the errors are: how samples are left out, and what is counted."""
        what = "AUC" if self.loss == "auc" else self.loss.replace("_", "-")
        if self.queries is not None:
            what = "squared pairwise" if self.loss == "squared" else "ranking"
        pairwise = self.queries is not None or self.loss == "auc"
        how = "leave-pair-out" if pairwise else "leave-one-out"
        if self.splits is not None:
            how = label_of(self.splits)
        if self.queries is not None and self.splits is not None:
            how = how.replace(" by groups", "")  # the folds of a ranking keep queries whole anyway
            queries = self.queries
            single = all(len(np.unique(queries[test])) == 1 for _, test in self.splits)
            if queries.any() and single and len(self.splits) > 1:
                how = "leave-query-out"
        return named(how, f"{what} error")


def make_design(
    X: Any,
    weights: Floats,
    threads: Threads,
    *,
    fit_intercept: bool = True,
    standardize: bool = False,
    n_blocks: int | None = None,
) -> Design:
    """The data of a problem, ready for any target, penalty and search."""
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
    if task.loss == "auc":
        needed = "samples of both classes"
        counts = [has_order(Y[test, 0], w[test], queries[test]) for test in tests]
    elif task.loss == "disagreement":
        needed = "two samples of the same query with different targets"
        counts = [has_order(Y[test, 0], w[test], queries[test]) for test in tests]
    elif task.queries is not None:
        needed = "two samples of the same query"
        counts = [pairs_weigh(w[test], queries[test]) > 0 for test in tests]
    else:
        needed = "samples of positive weight"
        counts = [bool(w[test].sum() > 0) for test in tests]
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
    model: State | FoldModel | LeavePairOut
    sums = make_sums(design, Y, task) if sums is None else sums
    if task.splits is None or sums is None:
        model = _left_out_singly(design, Y, alpha, task)
    elif task.loss == "squared":
        model = FoldModel(design, Y, alpha, task.splits, task.pooled, sums)
    elif task.loss in ("auc", "disagreement"):
        one = np.zeros(design.n_samples, dtype=np.intp)
        queries = one if task.queries is None else task.queries
        model = DisagreementModel(design, Y, alpha, task.pooled, sums, queries)
    else:
        model = FoldLossModel(design, Y, alpha, task.splits, task.pooled, Loss(task.loss), sums)
    model.costs = task.costs
    if not task.groups:
        return Hierarchy(model, task.parents) if task.parents else model
    if isinstance(model, LeavePairOut):
        raise InputError("leaving out pairs goes with single columns, not with feature_groups.")
    grouped = Grouped(model, [list(group) for group in task.groups], task.size)
    return Hierarchy(grouped, task.parents, task.groups) if task.parents else grouped


def _left_out_singly(design: Design, Y: Floats, alpha: float, task: Task) -> State | LeavePairOut:
    """The models without splits: samples, or pairs of samples, are left out one at a time."""
    if task.queries is not None:
        return RankModel(design, Y, alpha, task.loss)
    if task.loss == "auc":
        return PairModel(design, Y, alpha)
    finder = _finder(design, Y.shape[1], task)
    if isinstance(finder, Follower) and task.search != "backward":
        finder.prepare(design)
    state = State(design, Y, alpha, Loss(task.loss), finder)
    state.reserve(min(task.size, RESERVED))
    return state


def _finder(design: Design, n_targets: int, task: Task) -> Finder:
    """The cheapest finder for the task, or the one that was asked for."""
    form = task.form
    if form not in FORMS:
        raise InputError(f"form={form!r} is not known; use one of {', '.join(FORMS)}.")
    if task.loss == "squared":
        if form in ("cache", "blocks"):
            return EveryFinder()
        return BoundFinder(form, task.size)
    numbers = design.n_samples * design.n_features
    fits = 8 * numbers <= (default_memory() if task.memory is None else task.memory)
    worth = form == "cache" or numbers >= CACHE_FROM
    if n_targets == 1 and fits and worth and form != "blocks":
        return CacheFinder(task.size)
    return EveryFinder()


def default_memory() -> float:
    """A quarter of the machine's memory, in bytes; 2 GiB where that cannot be told."""
    import os

    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 4
    except (AttributeError, ValueError, OSError):
        return 2.0**31


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
    keeper = Checkpoint(checkpoint, design, Y, alpha, task) if checkpoint is not None else None
    earlier = keeper.read() if keeper is not None else []

    def watch_all(trail: Trail) -> object:
        if keeper is not None:
            keeper.write(trail)
        return watch(trail) if watch is not None else False

    trail = Trail(watch_all, _rules(design, Y, alpha, task))
    try:
        model = make_model(design, Y, alpha, task, sums)
        if task.search == "backward":
            for feature in _full(design, task):
                if feature not in model.chosen:
                    model.apply_update(Update("add", feature, np.nan))
            trail.start = tuple(model.chosen)
            trail.note(model)
        else:
            trail.note(model)
            for feature in (*task.forced, *task.start):
                _force(model, trail, feature)
        for move in earlier[len(trail.moves) :]:
            if (move.feature in model.chosen) == (move.action == "add"):
                continue  # it came or went with its group
            update = Update(move.action, move.feature, move.error)
            model.apply_update(update)
            trail.note(model, update, seconds=move.seconds)
        options: dict[str, Any] = {"epsilon": task.epsilon} if task.search == "floating" else {}
        keep = Kept(model, task.forced) if isinstance(model, Hierarchy) else task.forced
        SEARCHES[task.search](
            model, trail, size=task.size, candidates=task.candidates, keep=keep, **options
        )
    except KeyboardInterrupt:
        if not trail.steps:
            raise
        trail.stopped = "interrupted"
    finally:
        if keeper is not None:
            keeper.write(trail, now=True)
    return trail


def _full(design: Design, task: Task) -> list[int]:
    """Where a backward search begins: with all candidates, or with the start set."""
    begin = {*task.forced, *task.start} if task.start else set(task.candidates)
    live = (i for i in task.candidates if i in begin and not design.constant[i])
    return complete(live, task.parents)


def _rules(design: Design, Y: Floats, alpha: float, task: Task) -> list[Rule]:
    """The rules, told of the problem."""
    judging = any(isinstance(rule, StopRule) and rule.judges_additions for rule in task.rules)
    if judging and task.search == "backward":
        raise InputError("MaxT judges additions, and search='backward' makes none.")
    if judging and (task.groups or task.queries is not None):
        raise InputError(
            "MaxT tests single columns by their squared error over samples: use it "
            "without feature_groups, and not for ranking."
        )
    return [begun(rule, design, Y, alpha) for rule in task.rules]


def _force(model: Model, trail: Trail, feature: int) -> None:
    if feature in model.chosen:  # it came with its group
        return
    update = Update("add", feature, np.nan)
    model.apply_update(update)
    trail.note(model, update)


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
    reason = STOPPED.get(trail.stopped)
    if reason is not None:
        warn_user(f"the path ends at size {max(trail.steps)}: {reason}.")
    return SelectionPath(
        trail.steps,
        n_features=design.n_features,
        moves=trail.moves,
        start=trail.start,
        feature_names=names,
        criterion=task.criterion,
        error_kind="selection",
        data={
            "n_samples": design.n_samples,
            "n_features": design.n_features,
            "fingerprint": name_of(design.n_samples, design.marks, y, design.weights),
        },
        complete=trail.stopped != "interrupted",
        stopped=trail.stopped,
        **about,
    )


class Checkpoint:
    """A file that lets a long search go on where it stopped.

    It holds the moves and what the problem was. Going on means making the same moves again, which
    needs no search, and everything computed from there on is the same to the last bit.
    """

    def __init__(
        self, path: str | Path, design: Design, Y: Floats, alpha: float, task: Task
    ) -> None:
        self.path = Path(path)
        self._problem = {
            "schema": "sparsepath/checkpoint",
            "schema_version": 1,
            "data": name_of(design.n_samples, design.marks, Y, design.weights),
            "fit_intercept": design.fit_intercept,
            "standardize": design.standardize,
            "alpha": alpha,
            "task": task.name(),
        }
        self._written = 0.0
        self._n_features = design.n_features
        self._begin = set(_full(design, task)) if task.search == "backward" else set()

    def _make_sense(self, moves: list[Move]) -> bool:
        """Whether columns that there are come in before they go out."""
        chosen = set(self._begin)
        for move in moves:
            known = isinstance(move.feature, int) and 0 <= move.feature < self._n_features
            if not known or (move.feature in chosen) != (move.action == "drop"):
                return False
            if move.action not in ("add", "drop"):
                return False
            chosen ^= {move.feature}
        return True

    def write(self, trail: Trail, now: bool = False) -> None:
        """Write the moves so far, unless that was done a moment ago."""
        elapsed = trail.seconds()
        if not now and elapsed - self._written < CHECKPOINT_SECONDS:
            return
        self._written = elapsed
        moves = [[m.action, m.feature, m.error, m.seconds] for m in trail.moves]
        with replacing(self.path) as stream:
            json.dump({**self._problem, "moves": moves}, stream)

    def read(self) -> list[Move]:
        """The moves that an earlier run on the same problem has written; none if there is none."""
        if not self.path.exists():
            return []
        try:
            record = json.loads(self.path.read_text("utf-8"))
            moves = [Move(*move) for move in record.pop("moves")]
            if not self._make_sense(moves):
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileError(
                f"{self.path} is not a readable checkpoint; delete it to start afresh."
            ) from error
        if record != self._problem:
            raise FileError(
                f"{self.path} belongs to other data or parameters; delete it or name another file."
            )
        return moves
