"""Selection paths of regularised least squares: the checked function, without a class."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from sparsepath.arrays import Floats
from sparsepath.data.door import check_features, check_weights, refuse_constant, refuse_extremes
from sparsepath.data.threads import Threads
from sparsepath.path import SelectionPath
from sparsepath.rls.asking import Asked, check_squares, penalty, targets_of, warn_still
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.criteria.table import CLASSES, criterion_of
from sparsepath.rls.design import Design
from sparsepath.rls.driver import run as search_for
from sparsepath.rls.models import counted, folds_of, make_design, make_sums
from sparsepath.rls.splits.sums import SplitSums, is_nothing
from sparsepath.rls.task import Task
from sparsepath.rls.trail import Rule, SearchTrail
from sparsepath.running import Call, Found, Given, Run

RLS_METHODS = {
    "forward": "greedy-rls",
    "floating": "floating-rls",
    "backward": "backward-rls",
    "swap": "swap-rls",
}
ENDS = {
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


def rls_path(
    X: Any,
    y: ArrayLike,
    max_features: int | None = None,
    *,
    alpha: float = 1.0,
    search: str = "forward",
    cv: Any = "loo",
    loss: str | Loss = "squared",
    fit_intercept: bool = True,
    standardize: bool = True,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    forced: Sequence[int] | Sequence[str] | None = None,
    forbidden: Sequence[int] | Sequence[str] | None = None,
    start: Sequence[int] | Sequence[str] | None = None,
    parents: Mapping[Any, Sequence[Any]] | None = None,
    feature_groups: ArrayLike | None = None,
    feature_costs: ArrayLike | None = None,
    budget: float | None = None,
    stop: Rule | Sequence[Rule] = (),
    epsilon: float | None = None,
    pooled: bool = False,
    memory_budget: float | None = None,
    n_threads: int | None = None,
    callback: Callable[[SelectionPath], object] | None = None,
    checkpoint: str | Path | None = None,
) -> SelectionPath:
    """The path of a search, for those who want no estimator.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        Targets; for the losses that count mistakes class labels of any kind. Two classes are coded
        -1 and +1, the larger label is +1; more have a target each, +1 for their samples.
    max_features, search, cv, fit_intercept, standardize
        As for ``SparseRLSRegressor``.
    alpha : float, default=1.0
        The ridge penalty, zero or more.
    loss : str or ResidualLoss, default="squared"
        As for ``SparseRLSRegressor``. With class labels also "zero_one", "balanced" and "auc",
        which count mistakes.
    sample_weight : array of shape (n_samples,), optional
        A sample that is left out is left out with its whole weight.
    groups : array of shape (n_samples,), optional
        Samples that belong together and are left out together: ``cv="loo"`` then leaves out a
        group at a time, a number means folds of whole groups, and a splitter gets them.
    forced, forbidden, start, parents, feature_groups, feature_costs, budget, stop, epsilon, pooled
        As for ``SparseRLSRegressor``.
    memory_budget, n_threads, callback, checkpoint
        As for ``SparseRLSRegressor``.

    Returns
    -------
    SelectionPath
        Best subset, error and coefficients for every size. What was found so far after Ctrl-C, with
        a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> path = rls_path(X, y, 4)
    >>> path.names(4), path.choose("one_se")
    (('bmi', 's5', 'bp', 's1'), 2)
    """
    call = Call.of(locals(), but=("X", "y", "sample_weight", "groups"))
    given = Given.of(X, y, sample_weight=sample_weight, groups=groups)
    asked = Asked(call, criterion_of(loss, CLASSES), cv)
    penalty(alpha)
    X = check_features(call, X, reset=True)
    weights = check_weights(sample_weight, X.shape[0])
    Y = targets_of(y, weights, asked.criterion)
    refuse_constant(Y[weights > 0])
    refuse_extremes(Y)
    labels = Y if Y.shape[1] > 1 else Y[:, 0]
    trail = SearchTrail()
    with Threads(n_threads) as threads:
        design = design_for(asked, X, weights, threads)
        task = counted(design, Y, asked.task(X, labels, groups, design))
        problem = RLSProblem(design, Y, task, sums_for(design, Y, task, [alpha]))
        found, data = partial(problem.found, trail, float(alpha)), partial(problem.data, y)
        with Run(call, given, X, method=RLS_METHODS[search], found=found, data=data) as run:
            tell = run.tell if run.watched else None
            problem.search(float(alpha), trail, tell, checkpoint)
    path = run.path()
    run.warn(path, endings(path, trail, task))
    return path


@dataclass(frozen=True, eq=False)
class RLSProblem:
    """Data made ready, and what is asked of them: all that a search needs but its penalty."""

    design: Design
    Y: Floats
    task: Task
    sums: SplitSums | None = None

    def search(
        self,
        alpha: float,
        trail: SearchTrail,
        tell: Callable[[], object] | None,
        checkpoint: str | Path | None,
    ) -> None:
        """Search, and leave on the trail what was found; see ``driver.run``."""
        more: Any = {"trail": trail, "tell": tell, "checkpoint": checkpoint}
        search_for(self.design, self.Y, alpha, self.task, sums=self.sums, **more)

    def found(self, trail: SearchTrail, alpha: float) -> Found | None:
        """What a search has found; if no set was met that may be on a path, the last one met."""
        steps, moves = trail.record()
        steps = steps or [step for step in [trail.passed] if step is not None]
        if not steps:
            return None
        return Found(
            steps,
            moves,
            trail.start,
            self.task.criterion,
            fitted={"alpha_": alpha, "_paths": {}},
            parameters={"alpha": alpha},
            stopped=trail.stopped,
            data={**({"form": trail.form} if trail.form else {}), **self.design.record()},
        )

    def data(self, y: Any) -> dict[str, Any]:
        """What a path says of its data, with targets y."""
        m, n = self.design.n_samples, self.design.n_features
        return {"n_samples": m, "n_features": n, "fingerprint": self.design.name(y)}


def design_for(asked: Asked, X: Any, weights: Floats, threads: Threads) -> Design:
    """The data made ready, numbers that floating point cannot square refused."""
    design = make_design(
        X,
        weights,
        threads,
        fit_intercept=asked.of.fit_intercept,
        standardize=asked.of.standardize,
        memory=asked.of.memory_budget,
    )
    check_squares(design, asked.names)
    return design


def sums_for(design: Design, Y: Floats, task: Task, alphas: Sequence[float]) -> SplitSums | None:
    """The sums that splits need; a word on columns that do not vary in some training part."""
    if folds_of(design, task) is not None and not is_nothing(min(alphas), design).any():
        return None
    sums = make_sums(design, Y, task)
    warn_still(task, sums, alphas)
    return sums


def endings(path: SelectionPath, trail: SearchTrail, task: Task) -> list[str]:
    """What is to be said of a path that ends before its time."""
    reason = ENDS.get(path.stopped)
    if trail.passed is not None:
        reason = f"{reason or 'it was stopped'} before it came down to max_features and the budget"
    if reason is None:
        return []
    end = path.sizes[0 if task.backward else -1]
    return [f"the path ends at size {end}: {reason}."]
