"""ELM-FS as scikit-learn estimators: selection paths for nonlinear problems."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsepath.assessment.held_out import HeldOutLosses
from sparsepath.assessment.repetitions import Repetition, RepetitionResult
from sparsepath.base import (
    Found,
    Given,
    Run,
    Stop,
    fitting,
    open_fit,
    seed_of,
)
from sparsepath.base.parameters import count, number, one_of, positive
from sparsepath.base.selector import SizedSelector
from sparsepath.base.targets import PathClassifierMixin, PathRegressorMixin
from sparsepath.data.classes import encode_targets
from sparsepath.data.validation import check_features
from sparsepath.elm.cost import seconds
from sparsepath.elm.estimators import seeds_of
from sparsepath.elm.heavy_tails import standardise_heavy
from sparsepath.elm.limits import unit_of
from sparsepath.elm.network import Neurons, Target, draw_neurons
from sparsepath.elm.pool import Pool
from sparsepath.elm.scaling import RULES, Best
from sparsepath.elm.search import STRATEGIES, Draw, RestartPlan, Search, models
from sparsepath.elm.subsets import GAINED, POOLS
from sparsepath.errors import warn_user
from sparsepath.path.choosing import is_size
from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.interrupts import Interruptible
from sparsepath.system.threads import Threads

RIDGES = (1e-6, 1.0)  # between these the ridge of a machine is chosen
WELL_BELOW = 2.0  # standard errors of the criterion
MISSED = (
    "the search on all samples missed a subset of size {size} that it found with a part of the "
    "data left out; it was repeated from there ({before:.3g} before, {now:.3g} now)."
)
CONTRADICTED = (
    "the honest error at size {size}, {honest:.3g}, is well below the criterion of the search, "
    "{error:.3g}: with a part of the data left out the search found better subsets than on all "
    "samples. Use a larger n_restarts or n_neurons, or another random_state."
)
USUAL_SIZES = 8  # after which a search usually ends: 7 to 13 at 100 x 10 to 5000 x 15
MOST, PATIENCE = 20, 3  # features on the path, and sizes without a gain, unless asked for more


def contradictions(path: SelectionPath, parts: HeldOutLosses) -> set[int]:
    """Sizes at which the honest error is well below the criterion of the search."""
    honest = dict(zip(parts.sizes, parts.errors.tolist(), strict=True))
    steps = {size: path.step(size) for size in path.sizes if size in honest and size}
    return {k for k, s in steps.items() if honest[k] < s.error - WELL_BELOW * s.error_se}


@dataclass(eq=False, repr=False)
class _ELMFS(SizedSelector):
    """Base class of regressor and classifier: parameters, search, choice of the size."""

    _: KW_ONLY
    strategy: str = "both"
    n_restarts: int = 40
    n_neurons: int = 100
    ridge: float | None = None
    rule: str = "half"
    n_levels: int = 10
    random_state: Any = None
    n_threads: int | None = None

    def expected_seconds(self, X: Any) -> float:
        """Return the estimated CPU seconds of a search on one core, to a factor of two.

        Parameters
        ----------
        X : array or data frame
            Features.
        """
        n, d = X.shape
        plan = self._plan(d)
        sizes = plan.size if self.max_features is not None else min(plan.size, USUAL_SIZES)
        return seconds(plan, n, d, count("n_neurons", self.n_neurons), sizes)

    # Fitting ------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Search for the path and choose a size.

        Parameters
        ----------
        y : array of shape (n_samples,) or, for a regressor, (n_samples, n_targets)
            The target, or class labels of any kind.
        groups : array of shape (n_samples,), optional
            Samples that belong together: the validation leaves them out together.
        """
        given, X = open_fit(self, X, y, groups=groups)
        seed = seed_of(self.random_state)
        draw = self._draw(X, self._target(y, X.shape[0]), seed)
        plan = draw.plan
        search: Search | None = None

        def found() -> Found | None:
            best = Best() if search is None else search.machines()
            if not best.at and plan.size:
                return None
            return self._found(draw, search, best)

        run = Run(self, given, X, method="elm-fs", found=found, subtasks=plan.n_reports, seed=seed)
        with Threads(self.n_threads) as threads, run:
            search = draw.search(threads, lambda: run.tell("best subsets so far"))
            search.run(draw.seeds)
        return run.settle()

    def _found(self, draw: Draw, search: Search | None, best: Best) -> Found:
        """Return the result of a search: steps and machines by size."""
        steps, machines = models(draw.pool, best, draw.centre, draw.scale)
        fitted = {
            "scalings_": {size: best.at[size].scaling for size in sorted(best.at)},
            "ridges_": {size: best.at[size].ridge for size in sorted(best.at)},
        }
        stopped = Stop.NO_GAIN if search is not None and search.gained_nothing else ""
        return Found(
            steps, criterion=self._criterion(), fitted=fitted, models=machines, stopped=stopped
        )

    def _search_again(
        self, path: SelectionPath, parts: HeldOutLosses, given: Given
    ) -> Found | None:
        """Run a second search, from subsets found with part of the data held out.

        Only where an honest error is well below the criterion of the search at that size: models
        of fewer samples cannot be better than one of all, unless their subsets are. None if there
        is no such size, or nothing better is found.
        """
        sizes = contradictions(path, parts)
        if not sizes:
            return None
        starts = sorted(
            {tuple(sorted(each[k])) for each in parts.subsets for k in sizes & set(each)}
        )
        X = check_features(self, given.X, reset=True)
        draw = self._draw(X, self._target(given.y, X.shape[0]), path.seed, path.sizes[-1])
        draw = replace(draw, plan=replace(draw.plan, patience=None))
        second = None
        with Threads(self.n_threads) as threads, Interruptible():
            search = draw.search(threads)
            search.run(draw.seeds, starts)
            second = self._found(draw, search, search.machines())
        if second is not None:
            later = path.replaced(steps=second.steps)
            for size in sorted(sizes):
                before, now = path.error(size), later.error(size)
                if now < GAINED * before:
                    warn_user(MISSED.format(size=size, before=before, now=now))
                    return second
        size = min(sizes)
        honest = parts.errors[parts.sizes.index(size)]
        warn_user(CONTRADICTED.format(size=size, honest=honest, error=path.error(size)))
        return None

    def _draw(self, X: Any, target: Target, seed: int, most: int | None = None) -> Draw:
        """Return the random draws of a search, up to size ``most``."""
        XT, centre, scale = standardise_heavy(X)
        plan = self._plan(int(np.count_nonzero(XT.any(1))))
        if most is not None:
            plan = replace(plan, size=min(plan.size, most))
        for_neurons, for_restarts, for_others = seeds_of(seed).spawn(3)
        ridges = RIDGES if self.ridge is None else (positive("ridge", self.ridge),)
        n_neurons = count("n_neurons", self.n_neurons)

        def drawn(seed: np.random.SeedSequence) -> Neurons:
            return draw_neurons(n_neurons, len(XT), "tanh", np.random.default_rng(seed))

        pool = Pool(XT, target, drawn(for_neurons), *ridges)
        others = [pool.drawn(drawn(seed), ridges[0]) for seed in for_others.spawn(POOLS - 1)]
        return Draw(pool, others, plan, for_restarts.spawn(plan.n_restarts), centre, scale)

    def _search_many(
        self, X: Any, y: Any, given: Any, repetitions: Sequence[Repetition]
    ) -> Iterator[RepetitionResult | None] | None:
        """Return the results of all repetitions, in parallel; see ``elm.repeated``."""
        from sparsepath.elm.repeated import search_many

        return search_many(self, check_features(self, X, reset=True), y, given, repetitions)

    def _plan(self, usable: int) -> RestartPlan:
        """Return the parameters of a search among so many varying features."""
        size = min(usable, MOST)
        if self.max_features is not None:
            size = min(usable, count("max_features", self.max_features, 0))
        return RestartPlan(
            strategy=one_of("strategy", self.strategy, STRATEGIES),
            n_restarts=count("n_restarts", self.n_restarts),
            n_levels=count("n_levels", self.n_levels),
            rule=one_of("rule", self.rule, RULES),
            size=size,
            patience=PATIENCE if self.max_features is None else None,
            wanted=int(self.choose) if is_size(self.choose) else 0,
        )

    def _criterion(self) -> str:
        return "leave-one-out squared error"


@dataclass(eq=False, repr=False)
class ELMFSRegressor(PathRegressorMixin, _ELMFS):
    """Feature selection for nonlinear regression with extreme learning machines (ELM-FS).

    For each size, finds the subset, the scaling of its features and the neurons with the lowest
    exact leave-one-out error: by Algorithm 1 of Frénay et al. (2012), by a swap search over subsets
    followed by optimising the scalings, or by both. Subsets need not be nested: interacting
    features enter together. Predictions come from the network that attained the error.

    Parameters
    ----------
    max_features : int or None, default=None
        Largest size on the path; None: at most 20, and fewer if three sizes in a row bring no
        improvement, unless ``choose`` is a size. Run time grows with this size and with the number
        of features.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Size used for prediction. "one_se": the smallest size whose error is within one standard
        error of the minimum (for honest errors, the standard error of the paired difference).
        "min": the size with the minimum error. An integer: this size, or with a warning the nearest
        one on the path. A float below one: the smallest size within this fraction of the minimum. A
        single split has no standard error; "one_se" then means "min", with a warning. On small
        samples the minimum error is often at far too many features.
    strategy : {"both", "scaling", "swap"}, default="both"
        "scaling": the restarts of the paper on a grid of scalings. "swap": swap search over
        subsets. "both": the restarts provide further starting points for the swap search.
    n_restarts : int, default=40
        Restarts of Algorithm 1. More restarts find interactions of three or more features among
        many columns. Ignored for ``strategy="swap"``.
    n_neurons : int, default=100
        Size of the pool of tanh neurons. A restart uses a random number of them, with
        ``strategy="both"`` up to half; the swap search evaluates its best subsets with three more
        pools of this size.
    ridge : float or None, default=None
        Penalty: this times the number of samples times the squared output weights. None: for each
        network the largest value between 1e-6 and 1 whose leave-one-out error is within half a
        standard error (of the paired difference) of the minimum; Algorithm 1 uses 1e-6.
    reach : float, default=0.5
        Predictions are clipped to the range of the training target, extended by this fraction of
        it on either side; so are those behind the errors on the path. Infinity: no clipping.
    rule : {"half", "sign", "largest"}, default="half"
        Scalings that a step of Algorithm 1 changes: those whose gradient is at least half the
        largest ("half"), all ("sign"), or one ("largest").
    n_levels : int, default=10
        The grid of scalings is 0, 1/n_levels, ..., 1; scalings in use are at least 1/n_levels.
    random_state : int, RandomState or None
        Random seed of neurons and restarts.
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of
        folds ("auto": ten, or five for nonlinear methods), a scikit-learn splitter, or a list of
        splits. None: no honest errors; the size is chosen by the criterion of the search.
    callback : callable, optional
        Called from time to time with the path so far; a true return value stops the search.

    Attributes
    ----------
    path_ : SelectionPath
        Best subset (FSP) and leave-one-out error (SET curve) for every size.
    scalings_ : dict of size to array
        Scaling of every standardised feature in the network of that size.
    ridges_ : dict of size to float
        Ridge penalty of the network of that size.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    selected_ : array of int
        Selected columns.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sparsepath.data.synthetic import xor_like
    >>> problem = xor_like(400, random_state=0)
    >>> model = ELMFSRegressor(4, n_restarts=10, random_state=0).fit(problem.X, problem.y)
    >>> model.path_.subsets[:4]
    [(), (0,), (1, 2), (1, 2, 0)]
    >>> model.path_.entering_together()
    [Exchange(size=2, entered=(1, 2), left=(0,))]
    >>> model.selected_.tolist()
    [1, 2, 0]
    """

    _: KW_ONLY
    reach: float = 0.5
    _several = True

    def _target(self, y: Any, n_samples: int) -> Target:
        Y, reach = self._numbers(y, n_samples), number("reach", self.reach, finite=False)
        return Target(Y, unit=unit_of(Y), reach=reach)


@dataclass(eq=False, repr=False)
class ELMFSClassifier(PathClassifierMixin, _ELMFS):
    """Feature selection for nonlinear classification with extreme learning machines (ELM-FS).

    Targets are coded +1 and -1, and subsets are compared by the exact leave-one-out error rate.
    All classes share the features. Optimisation uses the squared error, which has a gradient; it
    also breaks ties of the error rate.

    Parameters
    ----------
    max_features : int or None, default=None
        Largest size on the path; None: at most 20, and fewer if three sizes in a row bring no
        improvement, unless ``choose`` is a size. Run time grows with this size and with the number
        of features.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Size used for prediction. "one_se": the smallest size whose error is within one standard
        error of the minimum (for honest errors, the standard error of the paired difference).
        "min": the size with the minimum error. An integer: this size, or with a warning the nearest
        one on the path. A float below one: the smallest size within this fraction of the minimum. A
        single split has no standard error; "one_se" then means "min", with a warning. On small
        samples the minimum error is often at far too many features.
    strategy : {"both", "scaling", "swap"}, default="both"
        "scaling": the restarts of the paper on a grid of scalings. "swap": swap search over
        subsets. "both": the restarts provide further starting points for the swap search.
    n_restarts : int, default=40
        Restarts of Algorithm 1. More restarts find interactions of three or more features among
        many columns. Ignored for ``strategy="swap"``.
    n_neurons : int, default=100
        Size of the pool of tanh neurons. A restart uses a random number of them, with
        ``strategy="both"`` up to half; the swap search evaluates its best subsets with three more
        pools of this size.
    ridge : float or None, default=None
        Penalty: this times the number of samples times the squared output weights. None: for each
        network the largest value between 1e-6 and 1 whose leave-one-out error is within half a
        standard error (of the paired difference) of the minimum; Algorithm 1 uses 1e-6.
    rule : {"half", "sign", "largest"}, default="half"
        Scalings that a step of Algorithm 1 changes: those whose gradient is at least half the
        largest ("half"), all ("sign"), or one ("largest").
    n_levels : int, default=10
        The grid of scalings is 0, 1/n_levels, ..., 1; scalings in use are at least 1/n_levels.
    loss : {"zero_one", "squared"}, default="zero_one"
        The criterion: leave-one-out error rate, or squared error.
    random_state : int, RandomState or None
        Random seed of neurons and restarts.
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of
        folds ("auto": ten, or five for nonlinear methods), a scikit-learn splitter, or a list of
        splits. None: no honest errors; the size is chosen by the criterion of the search.
    callback : callable, optional
        Called from time to time with the path so far; a true return value stops the search.

    Attributes
    ----------
    path_ : SelectionPath
        Best subset (FSP) and leave-one-out error (SET curve) for every size.
    selected_ : array of int
        Selected columns.
    scalings_ : dict of size to array
        Scaling of every standardised feature in the network of that size.
    ridges_ : dict of size to float
        Ridge penalty of the network of that size.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.
    classes_ : array
        Class labels.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = ELMFSClassifier(strategy="swap", n_neurons=30, random_state=0).fit(X, y)
    >>> model.path_.names(1), model.path_.error(2) < 0.05
    (('petal width (cm)',), True)
    """

    _: KW_ONLY
    loss: str = "zero_one"

    def _target(self, y: Any, n_samples: int) -> Target:
        one_of("loss", self.loss, ("zero_one", "squared"))
        codes = self._codes(y, n_samples)
        Y = encode_targets(codes, len(self.classes_))
        return Target(Y, codes if self.loss == "zero_one" else None)

    @property
    def _metric(self) -> str:
        return self.loss

    def _criterion(self) -> str:
        return f"leave-one-out {self.loss.replace('_', '-')} error"
