"""ELM-FS as scikit-learn estimators: selection paths for nonlinear problems."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsepath.choosing import is_size
from sparsepath.classes import coded
from sparsepath.data.columns import standardise
from sparsepath.data.door import check_features
from sparsepath.data.threads import Threads
from sparsepath.elm.cost import networks, seconds_of_one
from sparsepath.elm.estimators import seeds_of
from sparsepath.elm.limits import unit_of
from sparsepath.elm.network import Neurons, Target, draw_neurons
from sparsepath.elm.pool import Pool
from sparsepath.elm.scaling import RULES, Best
from sparsepath.elm.search import STRATEGIES, Draw, RestartPlan, Search, models
from sparsepath.elm.subsets import POOLS
from sparsepath.faces.parameters import count, number, one_of, positive
from sparsepath.faces.targets import ClassifierFace, RegressorFace
from sparsepath.judging.repeating import Repetition, Searched
from sparsepath.running import (
    Found,
    Given,
    Run,
    Stop,
    fitting,
    seed_of,
)
from sparsepath.selector import SizedSelector

RIDGES = (1e-6, 1.0)  # between these the ridge of a machine is chosen
MOST, PATIENCE = 20, 3  # features on the path, and sizes without a gain, unless asked for more


@dataclass(eq=False, repr=False)
class _ELMFS(SizedSelector):
    """What the regressor and the classifier share: parameters, search, choice of a size."""

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
        """What a search will take, before it begins: CPU seconds of one core, to a factor of two.

        One network is timed on this machine. ``validation`` repeats the search on each part of the
        data; a search that ends early because nothing is gained takes less.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features; only their shape counts.
        """
        n, d = X.shape
        one = seconds_of_one(n, count("n_neurons", self.n_neurons))
        return one * networks(self._plan(d), d, n)

    # Fitting ------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Search for the path and settle on a size.

        Parameters
        ----------
        y : array of shape (n_samples,) or, for a regressor, (n_samples, n_targets)
            The target, or class labels of any kind.
        groups : array of shape (n_samples,), optional
            Samples that belong together: the validation leaves them out together.
        """
        given = Given.of(X, y, groups=groups)
        X, seed = check_features(self, X, reset=True), seed_of(self.random_state)
        draw = self._draw(X, self._target(y, X.shape[0]), seed)
        plan, pool = draw.plan, draw.pool
        search: Search | None = None

        def found() -> Found | None:
            best = Best() if search is None else search.machines()
            if not best.at and plan.size:
                return None
            steps, machines = models(pool, best, draw.centre, draw.scale)
            fitted = {
                "scalings_": {size: best.at[size].scaling for size in sorted(best.at)},
                "ridges_": {size: best.at[size].ridge for size in sorted(best.at)},
            }
            stopped = Stop.NO_GAIN if search is not None and search.gained_nothing else ""
            return Found(
                steps, criterion=self._criterion(), fitted=fitted, models=machines, stopped=stopped
            )

        run = Run(self, given, X, method="elm-fs", found=found, subtasks=plan.n_reports, seed=seed)
        with Threads(self.n_threads) as threads, run:
            search = draw.search(threads, lambda: run.tell("best subsets so far"))
            search.run(draw.seeds)
        return run.settle()

    def _draw(self, X: Any, target: Target, seed: int, most: int | None = None) -> Draw:
        """What is drawn for a search, to sizes of at most ``most``."""
        XT, centre, scale = standardise(X)
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
    ) -> Iterator[Searched | None] | None:
        """What repetitions of the search leave, side by side; see ``elm.repeated``."""
        from sparsepath.elm.repeated import search_many

        return search_many(self, check_features(self, X, reset=True), y, given, repetitions)

    def _plan(self, usable: int) -> RestartPlan:
        """What is asked of a search among so many features that are not constant."""
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
class ELMFSRegressor(RegressorFace, _ELMFS):
    """Feature selection for nonlinear regression with extreme learning machines (ELM-FS).

    Finds for each size the subset, the scaling of its features and the neurons with the least exact
    leave-one-out error, by Algorithm 1 of Frénay et al. (2012), by a swap search over subsets with
    scalings polished afterwards, or by both. Subsets need not be nested: two features that are good
    only together come in together. Predictions come from the very machine that earned the error.

    Parameters
    ----------
    max_features : int or None, default=None
        The largest size on the path; None: at most 20, and fewer if three sizes in a row have
        gained nothing, unless ``choose`` asks for a size. The time grows with this size and with
        the number of features.
    choose
        As for ``SparseRLSRegressor``. On small samples the least error is often at far too many
        features.
    strategy : {"both", "scaling", "swap"}, default="both"
        The paper's restarts on the grid of scalings; the swap search over subsets; or both: the
        subsets of the restarts join the swap search, their scalings the polishing.
    n_restarts : int, default=40
        Restarts of Algorithm 1, at most: with strategy="both" they end, after twelve or more, when
        six in a row have found nothing new that is better by a tenth. No use for strategy="swap".
    n_neurons : int, default=100
        The pool of tanh neurons. A restart uses a random number of them, with strategy="both" up to
        half; the swap search judges its best subsets by three more pools of that size.
    ridge : float or None, default=None
        The penalty is this times the number of samples times the squared output weights. None: for
        each machine the largest, between 1e-6 and 1, of which the leave-one-out error is within
        half a standard error of the difference to the least; Algorithm 1 runs with 1e-6.
    reach : float, default=0.5
        Predictions leave the range of the training target by at most this fraction of it, on
        either side, and the errors on the path are of such predictions. Infinity: no limit.
    rule : {"half", "sign", "largest"}, default="half"
        Which scalings a step of Algorithm 1 moves: those whose slope is at least half the largest,
        all, or one.
    n_levels : int, default=10
        The grid of scalings is 0, 1/n_levels, ..., 1; no scaling in use is less than 1/n_levels.
    random_state : int, RandomState or None
        The seed of neurons and restarts.
    n_threads : int, optional
        Threads; None: one per core. It changes the speed only.
    validation
        As for ``SparseRLSRegressor``.
    callback : callable, optional
        Called now and then with the path so far; a true value stops the search, as Ctrl-C does.

    Attributes
    ----------
    path_ : SelectionPath
        Best subset (FSP) and leave-one-out error (SET curve) for every size.
    scalings_ : dict of size to array
        The scaling of every feature, after standardisation, in the machine of that size.
    ridges_ : dict of size to float
        The ridge of the machine of that size.

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
class ELMFSClassifier(ClassifierFace, _ELMFS):
    """ELM-FS for classes: targets +1 and -1, judged by the exact leave-one-out error rate.

    All classes share the features. Restarts and polishing follow the squared error, whose gradient
    exists; what counts is the criterion, with the squared error to break its many ties.

    Parameters
    ----------
    max_features, choose, strategy, n_restarts, n_neurons, ridge, rule, n_levels
        As for ``ELMFSRegressor``.
    loss : {"zero_one", "squared"}, default="zero_one"
        The criterion: leave-one-out error rate, or squared error.
    random_state, n_threads, validation, callback
        As for ``ELMFSRegressor``.

    Attributes
    ----------
    path_, selected_, scalings_, ridges_, n_features_in_, feature_names_in_
        As for ``ELMFSRegressor``.

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
        Y = coded(codes, len(self.classes_))
        return Target(Y, codes if self.loss == "zero_one" else None)

    @property
    def _yardstick(self) -> str:
        return self.loss

    def _criterion(self) -> str:
        return f"leave-one-out {self.loss.replace('_', '-')} error"
