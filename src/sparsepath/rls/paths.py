"""Selection paths of regularised least squares: the data checked, a search run, a path returned."""

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats, row_blocks, turned
from sparsepath.data.threads import Threads
from sparsepath.errors import FileError, InputError, PathWarning
from sparsepath.files import replacing
from sparsepath.path import SelectionPath
from sparsepath.rls.design import Design
from sparsepath.rls.elimination import Elimination
from sparsepath.rls.finders import BoundFinder, CacheFinder, EveryFinder, Follower
from sparsepath.rls.fold_elimination import FoldElimination
from sparsepath.rls.fold_losses import FoldLossModel
from sparsepath.rls.folds import FoldModel, Split, SplitSums
from sparsepath.rls.forms import FORMS, TURNED_FROM, Form, default_memory, form_for
from sparsepath.rls.fused import Fused
from sparsepath.rls.groups import Grouped
from sparsepath.rls.hierarchy import Hierarchy, Kept, complete
from sparsepath.rls.losses import Loss
from sparsepath.rls.pairs import LeavePairOut, PairModel, RankModel
from sparsepath.rls.queries import DisagreementModel, QuerySums, with_order
from sparsepath.rls.search import SEARCHES, Model, Trail
from sparsepath.rls.state import Finder, State
from sparsepath.rls.stopping import Rule, StopRule, begun
from sparsepath.rls.update import Costs, Update
from sparsepath.steps import Move

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
        if self.queries is not None:
            return self._ranking_criterion(self.queries)
        if self.loss == "auc":
            how = "leave-pair-out" if self.splits is None else f"{len(self.splits)}-fold"
            return f"{how} AUC error"
        how = "leave-one-out" if self.splits is None else f"{len(self.splits)}-fold"
        return f"{how} {self.loss.replace('_', '-')} error"

    def _ranking_criterion(self, queries: NDArray[np.intp]) -> str:
        how = "leave-pair-out"
        if self.splits is not None:
            single = all(len(np.unique(queries[test])) == 1 for _, test in self.splits)
            left_out = queries.any() and single and len(self.splits) > 1
            how = "leave-query-out" if left_out else f"{len(self.splits)}-fold"
        return f"{how} {'squared pairwise' if self.loss == 'squared' else 'ranking'} error"


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
    queries, splits = task.queries, task.splits
    if task.loss in ("auc", "disagreement"):
        one = np.zeros(design.n_samples, dtype=np.intp)
        splits = with_order(design, Y, splits, one if queries is None else queries)
    if queries is not None:
        return QuerySums(design, Y, splits, queries)
    return SplitSums(design, Y, splits)


def make_model(
    design: Design, Y: Floats, alpha: float, task: Task, sums: SplitSums | None = None
) -> Model:
    """The empty model, judged as the task asks; ``sums`` are those of ``make_sums``, if known."""
    model: State | Fused | Elimination | FoldModel | LeavePairOut
    sums = make_sums(design, Y, task) if sums is None else sums
    if task.splits is None or sums is None:
        model = _left_out_singly(design, Y, alpha, task)
    elif task.loss == "squared":
        dropping = task.search == "backward" and not task.groups
        kind = FoldElimination if dropping else FoldModel
        model = kind(design, Y, alpha, task.splits, task.pooled, sums)
    elif task.loss in ("auc", "disagreement"):
        one = np.zeros(design.n_samples, dtype=np.intp)
        queries = one if task.queries is None else task.queries
        model = DisagreementModel(design, Y, alpha, task.pooled, sums, queries)
    else:
        model = FoldLossModel(design, Y, alpha, task.splits, task.pooled, Loss(task.loss), sums)
    model.costs = task.costs
    if not task.groups:
        return Hierarchy(model, task.parents) if task.parents else model
    if not isinstance(model, State | FoldModel):
        raise InputError("leaving out pairs goes with single columns, not with feature_groups.")
    grouped = Grouped(model, [list(group) for group in task.groups], task.size)
    return Hierarchy(grouped, task.parents, task.groups) if task.parents else grouped


def _left_out_singly(
    design: Design, Y: Floats, alpha: float, task: Task
) -> State | Fused | Elimination | LeavePairOut:
    """The models without splits: samples, or pairs of samples, are left out one at a time."""
    if task.queries is not None:
        return RankModel(design, Y, alpha, task.loss)
    if task.loss == "auc":
        return PairModel(design, Y, alpha)
    if task.search == "backward" and not task.groups:
        return Elimination(design, Y, alpha, Loss(task.loss))
    if task.form not in FORMS:
        raise InputError(f"form={task.form!r} is not known; use one of {', '.join(FORMS)}.")
    form = form_for(
        design,
        loss=task.loss,
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
        if isinstance(finder, Follower) and task.search != "backward":
            finder.prepare(design)
        model = State(design, Y, alpha, Loss(task.loss), finder)
        model.reserve(min(task.size, RESERVED))
    model.form = str(form)
    return model


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
    keeper = Checkpoint(checkpoint, design, Y, alpha, task) if checkpoint is not None else None
    earlier = keeper.read() if keeper is not None else []

    def watch_all(trail: Trail) -> object:
        if keeper is not None:
            keeper.write(trail)
        return watch(trail) if watch is not None else False

    trail = Trail(watch_all, _rules(design, Y, alpha, task))
    try:
        model = make_model(design, Y, alpha, task, sums)
        trail.form = getattr(model, "form", "")
        if task.search == "backward":
            begin(model, _full(design, task))
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


def begin(model: Model, features: Sequence[int]) -> None:
    """The empty model with these features added, at once where it can."""
    inside = model.model if isinstance(model, Hierarchy) else model
    if isinstance(inside, Elimination | FoldElimination):
        inside.begin(features)
        return
    for feature in features:
        if feature not in model.chosen:
            model.apply_update(Update("add", feature, np.nan))


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
    trail: Trail, design: Design, task: Task, *, names: Sequence[str] | None, **about: Any
) -> SelectionPath:
    """The selection path of a trail, with a warning if it ends before its time."""
    reason = STOPPED.get(trail.stopped)
    if reason is not None:
        warnings.warn(
            f"the path ends at size {max(trail.steps)}: {reason}.", PathWarning, stacklevel=3
        )
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
            "fingerprint": fingerprint(design),
            **({"form": trail.form} if trail.form else {}),
        },
        complete=trail.stopped != "interrupted",
        stopped=trail.stopped,
        **about,
    )


def fingerprint(design: Design, *more: Any) -> str:
    """A short name for the data: equal data, equal name."""
    digest = hashlib.blake2b(digest_size=12)
    digest.update(repr((design.n_samples, design.n_features, design.fit_intercept)).encode())
    for array in (design.means, design.squares, design.weights, *more):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


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
            "data": fingerprint(design, Y, design.checksum()),
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
