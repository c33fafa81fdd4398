"""The errors of a path over l1 on the test parts of the splits."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed

from sparsepath.errors import InputError
from sparsepath.grafting.criterion import ConvexLoss, Penalty
from sparsepath.grafting.fitting import GraftingProblem
from sparsepath.grafting.joint_paths import GraftingSplit
from sparsepath.grafting.procedure import GraftingOptions, WorkingModel
from sparsepath.grafting.relaxation import relaxed
from sparsepath.grafting.squares import SharedSums
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads

Errors = TypeVar("Errors")


@dataclass(frozen=True, eq=False)
class PathTask:
    """The data, and what to fit to every training part; ``penalty.l1`` holds the factors."""

    X: Any
    Y: Floats
    weights: Floats
    loss: ConvexLoss
    l1s: Floats
    penalty: Penalty
    options: GraftingOptions
    error: str
    scale: dict[str, bool]
    sums: SharedSums | None = None
    relax: bool = False


@dataclass(eq=False)
class Halt:
    """Flag that stops the work; copies sent to other processes are not updated."""

    is_set: bool = False


def judge(
    work: Callable[[Any, Halt], Errors | None],
    splits: Sequence[Any],
    n_jobs: int | None,
    errors: list[Errors],
    tell: Callable[[], bool],
) -> None:
    """Append to ``errors`` what ``work`` gives for each split, in their order.

    ``work`` gives None if it was stopped meanwhile. ``n_jobs`` splits run at the same time;
    ``tell`` is called after each, and a true value ends the work.
    """
    halt = Halt()
    calls = (delayed(_unless)(halt, work, split) for split in splits)
    done = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(calls)
    try:
        for each in done:
            errors.append(each)
            if tell():
                break
    finally:
        halt.is_set = True
        for _ in done:  # those that run end soon, the others do not begin
            pass


def _unless(halt: Halt, work: Any, split: Any) -> Any:
    return None if halt.is_set else work(split, halt)


def refuse_empty(train: Floats, test: Floats) -> None:
    """Raise an error for a split with too few positive weights."""
    if not test.any() or np.count_nonzero(train) < 2:
        raise InputError(
            "a split has a training part of fewer than two samples of positive weight, or a test "
            "part without any; use other splits."
        )


def errors_of(loss: ConvexLoss, F: Floats, Y: Floats, error: str, w: Floats) -> Floats:
    """Return the error per test sample: the loss, or whether the class is wrong."""
    if error == "loss":
        return loss.error_factor * loss.of_samples(Y, w / w.sum()).value(F, Y)
    if F.shape[1] == 1:
        return ((F > 0) != (Y > 0))[:, 0].astype(float)
    return (F.argmax(1) != Y.argmax(1)).astype(float)


def mean_error(loss: ConvexLoss, F: Floats, Y: Floats, w: Floats, error: str) -> float:
    """The mean of ``errors_of``, weighted."""
    return float(w @ errors_of(loss, F, Y, error, w) / w.sum())


def training_parts(
    problem: GraftingProblem, task: PathTask, splits: Sequence[tuple[Any, Any]]
) -> list[GraftingSplit]:
    """The splits as parts of the rows of a problem, whose paths go along with its own."""
    counted = task.weights > 0
    place = np.cumsum(counted) - 1
    out = []
    for train, test in splits:
        train, test = np.arange(len(place))[train], np.arange(len(place))[test]
        refuse_empty(task.weights[train], task.weights[test])
        weights = (np.bincount(train, minlength=len(place)) * task.weights)[counted]
        away = place[test[counted[test]]]
        out.append(GraftingSplit(weights / weights.sum(), away, problem.Y[away]))
    return out


def path_errors(task: PathTask, split: tuple[Any, Any, GraftingSplit | None], halt: Halt) -> Any:
    """Mean errors on the test part of the models that the training part gives, one per l1.

    With ``relax``, one per l1 and mix. None if it was ended early.
    """
    train, test, part = split
    if part is not None and len(part.outputs) >= len(task.l1s):
        return _errors_of_part(task, part)
    w = task.weights[test]
    refuse_empty(task.weights[train], w)
    if task.sums is not None:
        errors = _errors_by_squares(task, train, test, halt)
        if errors is not None or halt.is_set:
            return errors
    with Threads(1) as threads:
        problem = GraftingProblem(
            task.X[train], task.Y[train], task.weights[train], task.loss, threads, **task.scale
        )
        fits = problem.path(
            task.l1s.tolist(), task.penalty, task.options, watch=lambda: halt.is_set
        )
        if len(fits) < len(task.l1s):
            return None
        given = task.X[test], task.Y[test], w, task.error
        if task.relax:
            return errors_on(problem, relaxed(problem, fits, task.penalty), *given)
        return errors_on(problem, (fit.final for fit in fits), *given)


def _errors_of_part(task: PathTask, part: GraftingSplit) -> list[float]:
    """Return the errors from the outputs of a jointly computed path."""
    F = np.concatenate(part.outputs[: len(task.l1s)])[:, None]
    Y = np.tile(part.Y, (len(task.l1s), 1))
    w = task.weights[task.weights > 0][part.test]
    each = errors_of(task.loss, F, Y, task.error, np.tile(w, len(task.l1s)))
    each = each.reshape(len(task.l1s), -1)
    errors: list[float] = (each @ w / w.sum()).tolist()
    return errors


def _errors_by_squares(task: PathTask, train: Any, test: Any, halt: Halt) -> list[float] | None:
    """Return the errors from products of columns; None if these are too imprecise."""
    assert task.sums is not None
    problem = task.sums.problem(train)
    if problem is None:
        return None
    W = np.zeros((len(task.l1s), task.X.shape[1]))
    for i, found in enumerate(problem.path(task.l1s, task.penalty, task.options.tol)):
        if not found.certified or halt.is_set:
            return None
        W[i] = found.w
    V = (W / problem.scales).T
    used = np.flatnonzero(V.any(1))
    F = task.X[np.ix_(test, used)] @ V[used] + (problem.mean - problem.means @ V)
    F -= task.Y[test]
    F *= F
    w = task.weights[test]
    errors: list[float] = (w @ F / w.sum()).tolist()
    return errors


def errors_on(
    problem: GraftingProblem,
    models: Iterable[WorkingModel],
    rows: Any,
    Y: Floats,
    w: Floats,
    error: str = "loss",
) -> list[float]:
    """Mean errors of models on rows that are not theirs."""
    out = []
    for model in models:
        used = list(model.features)
        V, b = problem.original(model.W, model.b, used)
        F = np.asarray(rows[:, used] @ V) + b
        out.append(mean_error(problem.loss, F, Y, w, error))
    return out
