"""ELM-FS as scikit-learn estimators: selection paths for nonlinear problems."""

import copy
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from sparsepath.data.blocks import Floats
from sparsepath.data.door import check_features, check_target, refuse_constant
from sparsepath.data.threads import Threads
from sparsepath.elm.estimators import (
    check_classes,
    check_count,
    check_ridge,
    seed_of,
    winners,
)
from sparsepath.elm.limits import check_reach, unit_of
from sparsepath.elm.network import Neurons, Pool, Target, draw_neurons, standardise
from sparsepath.elm.scaling import RULES, Best
from sparsepath.elm.search import STRATEGIES, Plan, Watch, models, search
from sparsepath.elm.subsets import POOLS
from sparsepath.errors import InputError
from sparsepath.path import SelectionPath
from sparsepath.selector import PathSelector
from sparsepath.watching import INTERRUPTED, is_watched, tell, warn_if_interrupted

RIDGES = (1e-6, 1.0)  # between these the ridge of a machine is chosen
MOST = 20  # features on the path, unless asked for more


@dataclass(frozen=True, eq=False)
class _Data:
    """What a search is about: the pool of neurons on the data, and how to get back to raw units."""

    pool: Pool
    centre: Floats
    scale: Floats

    @property
    def told(self) -> dict[str, Any]:
        d, n = self.pool.XT.shape
        digest = hashlib.blake2b(digest_size=12)
        for array in (self.centre, self.scale, self.pool.XT[:, 0], self.pool.XT[:, -1]):
            digest.update(np.ascontiguousarray(array).tobytes())
        return {"n_samples": n, "n_features": d, "fingerprint": digest.hexdigest()}


class _ELMFS(PathSelector, CallbackSupportMixin, BaseEstimator):
    """What the regressor and the classifier share: parameters, search, choice of a size."""

    def __init__(
        self,
        max_features: int | None = None,
        *,
        choose: str | int | float = "one_se",
        strategy: str = "both",
        n_restarts: int = 40,
        n_neurons: int = 100,
        ridge: float | None = None,
        reach: float = 0.5,
        rule: str = "half",
        n_levels: int = 10,
        random_state: Any = None,
        n_threads: int | None = None,
        callback: Callable[[SelectionPath], object] | None = None,
    ) -> None:
        self.max_features = max_features
        self.choose = choose
        self.strategy = strategy
        self.n_restarts = n_restarts
        self.n_neurons = n_neurons
        self.ridge = ridge
        self.reach = reach
        self.rule = rule
        self.n_levels = n_levels
        self.random_state = random_state
        self.n_threads = n_threads
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Fitting ------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, target: Target) -> Self:
        XT, centre, scale = standardise(X)
        plan = self._plan(XT)
        for_neurons, for_restarts, for_others = seed_of(self.random_state).spawn(3)
        ridges = RIDGES if self.ridge is None else (check_ridge(self.ridge),)
        n_neurons = check_count(self.n_neurons, "n_neurons")

        def drawn(seed: np.random.SeedSequence) -> Neurons:
            return draw_neurons(n_neurons, len(XT), "tanh", np.random.default_rng(seed))

        data = _Data(Pool(XT, target, drawn(for_neurons), *ridges), centre, scale)
        others = [data.pool.drawn(drawn(seed), ridges[0]) for seed in for_others.spawn(POOLS - 1)]
        context = self._init_callback_context(max_subtasks=plan.n_reports)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        with Threads(self.n_threads) as threads:
            seeds = for_restarts.spawn(plan.n_restarts)
            best, stopped = search(
                data.pool, others, plan, seeds, threads, self._watch(context, data)
            )
        self._settle(best, data, stopped, complete=stopped != INTERRUPTED)
        warn_if_interrupted(self.path_)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _plan(self, XT: Floats) -> Plan:
        if self.strategy not in STRATEGIES:
            raise InputError(f"strategy={self.strategy!r}; use one of {', '.join(STRATEGIES)}.")
        if self.rule not in RULES:
            raise InputError(f"rule={self.rule!r}; use one of {', '.join(RULES)}.")
        usable = int(np.count_nonzero(XT.any(1)))
        size = min(usable, MOST)
        if self.max_features is not None:
            size = min(usable, check_count(self.max_features, "max_features", least=0))
        return Plan(
            strategy=self.strategy,
            n_restarts=check_count(self.n_restarts, "n_restarts"),
            n_levels=check_count(self.n_levels, "n_levels"),
            rule=self.rule,
            size=size,
        )

    def _settle(self, best: Best, data: _Data, stopped: str, complete: bool = True) -> None:
        """Make the path, and take the model of the size that is asked for."""
        steps, self._machines = models(data.pool, best, data.centre, data.scale)
        self.scalings_ = {size: best.at[size].scaling for size in sorted(best.at)}
        self.ridges_ = {size: best.at[size].ridge for size in sorted(best.at)}
        told = self.get_params(deep=False)
        skipped = ("callback", "n_threads", "random_state")
        self.path_ = SelectionPath(
            steps,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            criterion=self._criterion(),
            method="elm-fs",
            parameters={name: value for name, value in told.items() if name not in skipped},
            seed=self.random_state if isinstance(self.random_state, int) else None,
            data=data.told,
            complete=complete,
            stopped=stopped,
        )
        self._take(self.path_.settle(self.choose))

    def _criterion(self) -> str:
        return "leave-one-out squared error"

    def _take(self, size: int) -> None:
        self.selected_ = np.array(self.path_.subset(size), dtype=np.intp)
        self._machine = self._machines[size]

    def _watch(self, context: Any, data: _Data) -> Watch | None:
        """What is called now and then: scikit-learn's callbacks and the plain one."""
        if not is_watched(self):
            return None

        def watch(best: Best) -> bool:
            state = copy.copy(self)
            state._settle(best, data, "", complete=False)
            return tell(self, context, state.path_, lambda: state, "best subsets so far")

        return watch

    # Using --------------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Floats:
        """Predictions of the scaled machine, from the selected columns alone."""
        check_is_fitted(self)
        return self._machine.predict(check_features(self, X, reset=False))


class ELMFSRegressor(RegressorMixin, _ELMFS):
    """Feature selection for nonlinear regression with extreme learning machines (ELM-FS).

    Finds for each size the subset, the scaling of its features and the neurons with the least exact
    leave-one-out error, by Algorithm 1 of Frénay et al. (2012), by a swap search over subsets with
    scalings polished afterwards, or by both. Subsets need not be nested: two features that are good
    only together come in together. Predictions come from the very machine that earned the error.

    Parameters
    ----------
    max_features : int or None, default=None
        The largest size on the path; None: all features, but at most 20. The time grows with the
        number of features times this size.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Which size to use for prediction: the smallest within one standard error of the least error,
        that of the least error, a given size, or the smallest within a fraction of the least error.
        On small samples the least error is often at far too many features.
    strategy : {"both", "scaling", "swap"}, default="both"
        The paper's restarts on the grid of scalings; the swap search over subsets; or both: the
        subsets of the restarts join the swap search, their scalings the polishing.
    n_restarts : int, default=40
        Restarts of Algorithm 1; no use for strategy="swap".
    n_neurons : int, default=100
        The pool of tanh neurons. A restart uses a random number of them; the swap search judges
        its best subsets by three more pools of that size.
    ridge : float or None, default=None
        The penalty is this times the number of samples times the squared output weights. None: for
        each machine that of the least leave-one-out error, between 1e-6 and 1; Algorithm 1 runs
        with 1e-6.
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
    callback : callable, optional
        Called now and then with the path so far; a true value stops the search, as Ctrl-C does.

    Attributes
    ----------
    path_ : SelectionPath
        Best subset (FSP) and leave-one-out error (SET curve) for every size.
    selected_ : array of int
        The columns in use.
    scalings_ : dict of size to array
        The scaling of every feature, after standardisation, in the machine of that size.
    ridges_ : dict of size to float
        The ridge of the machine of that size.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Search for the path and settle on a size.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            The target.
        """
        X = check_features(self, X, reset=True)
        Y, self._one_target = check_target(y, X.shape[0])
        refuse_constant(Y, np.ones(len(Y)))
        return self._fit(X, y, Target(Y, unit=unit_of(Y), reach=check_reach(self.reach)))

    def predict(self, X: Any) -> Floats:
        """Predicted targets, of the shape that y had."""
        scores = self._scores(X)
        return scores[:, 0] if self._one_target else scores


class ELMFSClassifier(ClassifierMixin, _ELMFS):
    """ELM-FS for classes: targets +1 and -1, judged by the exact leave-one-out error rate.

    All classes share the features. Restarts and polishing follow the squared error, whose gradient
    exists; what counts is the criterion, with the squared error to break its many ties.

    Parameters
    ----------
    max_features, choose, strategy, n_restarts, n_neurons, ridge, rule, n_levels
        As for ``ELMFSRegressor``.
    loss : {"zero_one", "squared"}, default="zero_one"
        The criterion: leave-one-out error rate, or squared error.
    random_state, n_threads, callback
        As for ``ELMFSRegressor``.

    Attributes
    ----------
    classes_ : array
        The class labels.
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

    def __init__(
        self,
        max_features: int | None = None,
        *,
        choose: str | int | float = "one_se",
        strategy: str = "both",
        n_restarts: int = 40,
        n_neurons: int = 100,
        ridge: float | None = None,
        rule: str = "half",
        n_levels: int = 10,
        loss: str = "zero_one",
        random_state: Any = None,
        n_threads: int | None = None,
        callback: Callable[[SelectionPath], object] | None = None,
    ) -> None:
        super().__init__(
            max_features,
            choose=choose,
            strategy=strategy,
            n_restarts=n_restarts,
            n_neurons=n_neurons,
            ridge=ridge,
            rule=rule,
            n_levels=n_levels,
            random_state=random_state,
            n_threads=n_threads,
            callback=callback,
        )
        self.loss = loss

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Search for the path and settle on a size.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,)
            Class labels of any kind.
        """
        if self.loss not in ("zero_one", "squared"):
            raise InputError(f"loss={self.loss!r}; use one of zero_one, squared.")
        X = check_features(self, X, reset=True)
        self.classes_, codes, Y = check_classes(y, X.shape[0])
        return self._fit(X, y, Target(Y, codes if self.loss == "zero_one" else None))

    def _criterion(self) -> str:
        return f"leave-one-out {self.loss.replace('_', '-')} error"

    def decision_function(self, X: Any) -> Floats:
        """Scores: one column per class, or for two classes one number, positive for the second."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self.decision_function(X)
        return self.classes_[winners(scores)]
