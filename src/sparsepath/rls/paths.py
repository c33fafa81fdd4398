"""``rls_path``: selection paths of regularised least squares without an estimator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from sparsepath.base import Call, Found, Given, Run
from sparsepath.data.validation import (
    check_features,
    check_weights,
    refuse_constant,
    refuse_extremes,
)
from sparsepath.path.selection_path import SelectionPath
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.criteria.table import CLASSES, criterion_of
from sparsepath.rls.design import Design
from sparsepath.rls.driver import run as search_for
from sparsepath.rls.engines import make_design, make_sums, without_empty_folds
from sparsepath.rls.folds.moments import SplitSums
from sparsepath.rls.history import Rule, SearchTrail
from sparsepath.rls.parameters import (
    Parameters,
    SearchSpec,
    check_squares,
    penalty,
    targets_of,
    warn_still,
)
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads

RLS_METHODS = {
    "forward": "greedy-rls",
    "floating": "floating-rls",
    "backward": "backward-rls",
    "swap": "swap-rls",
    "strong": "strong-rls",
    "exact": "exact-rls",
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
    time_budget: float | None = None,
    pooled: bool = False,
    memory_budget: float | None = None,
    n_threads: int | None = None,
    callback: Callable[[SelectionPath], object] | None = None,
    checkpoint: str | Path | None = None,
) -> SelectionPath:
    """Compute a selection path without an estimator.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        Targets; for the losses that count mistakes class labels of any kind. Two classes are coded
        -1 and +1, the larger label is +1; more have a target each, +1 for their samples.
    max_features : int or None, default=None
        Largest size on the path. None: as many as columns and samples allow, but at most 100
        (``LONGEST_PATH``), or with ``feature_groups`` the columns of the 100
        largest groups. A backward search starts with all features; ``budget`` is a separate limit.
    search : {"forward", "floating", "backward", "swap", "strong", "exact"}, default="forward"
        "forward": forward selection. "floating": forward selection with removals while they cost
        less than half of what was gained. "backward": elimination, starting with all features.
        "swap": forward selection with exchanges of one feature for another.
        "strong": a beam of sets of every size, improved by exchanges of one and two features,
        additions and removals until nothing helps; 10 to 1000 times the time of "forward".
        "exact": the sets with the least penalised training error, by branch and bound, with a
        lower bound for every size (``path_.certificate``); for ``cv="loo"``, which then only
        gives the errors on the path.
    cv : "loo", int, splitter or list of splits, default="loo"
        Criterion of the search: exact leave-one-out, or the mean error over the test parts of any
        splits. With ``groups``: leave-one-group-out, or folds of whole groups.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It is not penalised, and refitted for every held-out sample.
    standardize : bool, default=True
        If True, penalise columns as if they had unit variance, so that units do not matter;
        coefficients stay in units of the data. If False, penalise the columns unscaled.
    alpha : float, default=1.0
        Ridge penalty, zero or more.
    loss : str or ResidualLoss, default="squared"
        Loss of a cross-validation residual: squared, absolute, or between the two, ``Huber(delta)``
        and ``LogCosh(scale)`` from ``sparsepath.rls``, with parameters in units of the target (1.35
        and 1 by default), or a custom loss. The model is fitted by ridge regression in every case.
        The squared loss is by far the fastest. With class labels also "zero_one", "balanced" and
        "auc", which count mistakes.
    sample_weight : array of shape (n_samples,), optional
        Weights of the samples.
    groups : array of shape (n_samples,), optional
        Samples that belong together and are left out together: ``cv="loo"`` then leaves out a
        group at a time, a number means folds of whole groups, and a splitter gets them.
    forced, forbidden : list of int or str, optional
        Columns, by index or name, that every model must contain, or that no model may contain. The
        path starts with the forced ones.
    start : list of int or str, optional
        Columns to start from; searches that remove features may remove them. A backward search
        starts from these alone.
    parents : dict of int or str to list of int or str, optional
        Columns that may enter only after others, such as an interaction after its main effects:
        maps a column to its parents, which stay as long as it does.
    feature_groups : array of shape (n_features,), optional
        Group labels: columns with the same label enter and leave together.
    feature_costs : array of shape (n_features,), optional
        Cost of each feature. Candidates are ranked by error reduction per unit cost.
    budget : float, optional
        Maximum total cost of the selected features (without ``feature_costs``: their number).
    stop : callable or list of callables, default=()
        Rules that stop the search early: ``Tolerance``, ``Patience``, ``TimeLimit``, ``PastOneSE``
        and ``MaxT`` from ``sparsepath.rls``, combined with ``|`` and ``&``, or your own functions;
        see ``sparsepath.rls.stopping``.
    epsilon : float, optional
        For ``search="forward"`` and ``"floating"``: stop when an addition would improve the
        error by less.
    time_budget : float, optional
        For ``search="strong"`` and ``"exact"``: seconds after which the search ends with what it
        has found (``path_.stopped`` is then "time"). One that ends before does not depend on it.
    pooled : bool, default=False
        If True, average the loss over all test samples; if False, average the means per split.
    memory_budget : float, optional
        Bytes that may be used for copies of the data and intermediate results of their size;
        default: a quarter of the machine's memory. Affects speed only.
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.
    callback : callable, optional
        Called after every move with the path so far; a true return value stops the search.
    checkpoint : path, optional
        File in which progress is saved, and from which an interrupted search resumes. A search
        that was stopped by a rule in ``stop`` stops there again.

    Returns
    -------
    SelectionPath
        Best subset, error and coefficients for every size. After Ctrl-C: what was found so far,
        with a warning.

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
    parameters = Parameters(call, criterion_of(loss, CLASSES), cv)
    penalty(alpha)
    X = check_features(call, X, reset=True)
    weights = check_weights(sample_weight, X.shape[0])
    Y = targets_of(y, weights, parameters.criterion)
    refuse_constant(Y[weights > 0])
    refuse_extremes(Y)
    labels = Y if Y.shape[1] > 1 else Y[:, 0]
    trail = SearchTrail()
    with Threads(n_threads) as threads:
        design = design_for(parameters, X, weights, threads)
        spec = without_empty_folds(design, Y, parameters.spec(X, labels, groups, design))
        problem = RLSProblem(design, Y, spec, sums_for(design, Y, spec, [alpha]))
        found, data = partial(problem.found, trail, float(alpha)), partial(problem.data, y)
        with Run(call, given, X, method=RLS_METHODS[search], found=found, data=data) as run:
            tell = run.tell if run.watched else None
            problem.search(float(alpha), trail, tell, checkpoint)
    path = run.path()
    run.warn(path, endings(path, trail, spec))
    return path


@dataclass(frozen=True, eq=False)
class RLSProblem:
    """Prepared data and search parameters, without a penalty."""

    design: Design
    Y: Floats
    spec: SearchSpec
    sums: SplitSums | None = None

    def search(
        self,
        alpha: float,
        trail: SearchTrail,
        tell: Callable[[], object] | None,
        checkpoint: str | Path | None,
    ) -> None:
        """Run the search and record it on the trail; see ``driver.run``."""
        more: Any = {"trail": trail, "tell": tell, "checkpoint": checkpoint}
        search_for(self.design, self.Y, alpha, self.spec, sums=self.sums, **more)

    def found(self, trail: SearchTrail, alpha: float) -> Found | None:
        """Return the result of a search; without a valid subset, the last one."""
        steps = list(trail.steps.values())
        if not steps and trail.passed is not None:
            steps = [trail.passed]
        if not steps:
            return None
        return Found(
            steps,
            trail.moves,
            trail.start,
            self.spec.criterion,
            fitted={"alpha_": alpha, "refit_alpha_": alpha, "_paths": {}},
            parameters={"alpha": alpha},
            stopped=trail.stopped,
            data={**trail.record(), **self.design.record()},
        )

    def data(self, y: Any) -> dict[str, Any]:
        """Return the data record of the path, with targets y."""
        m, n = self.design.n_samples, self.design.n_features
        return {"n_samples": m, "n_features": n, "fingerprint": self.design.name(y)}


def design_for(parameters: Parameters, X: Any, weights: Floats, threads: Threads) -> Design:
    """Return prepared data; columns whose squares overflow raise an error."""
    design = make_design(
        X,
        weights,
        threads,
        fit_intercept=parameters.of.fit_intercept,
        standardize=parameters.of.standardize,
        memory=parameters.of.memory_budget,
    )
    check_squares(design, parameters.names)
    return design


def sums_for(
    design: Design, Y: Floats, spec: SearchSpec, alphas: Sequence[float]
) -> SplitSums | None:
    """Return the sums for the splits; warn about columns that are constant in a training fold."""
    sums = make_sums(design, Y, spec)
    warn_still(spec, sums, alphas)
    return sums


def endings(path: SelectionPath, trail: SearchTrail, spec: SearchSpec) -> list[str]:
    """Warn if a path ended early."""
    reason = ENDS.get(path.stopped)
    if trail.passed is not None:
        reason = f"{reason or 'it was stopped'} before it came down to max_features and the budget"
    if reason is None:
        return []
    end = path.sizes[0 if spec.backward else -1]
    return [f"the path ends at size {end}: {reason}."]
