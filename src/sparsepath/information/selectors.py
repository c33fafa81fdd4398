"""Selection by mutual information as a scikit-learn transformer."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsepath.base import Found, Given, Run, Stop, Trail, fitting, open_fit, seed_of
from sparsepath.base.parameters import at_most, count, is_list, one_of, random_state
from sparsepath.base.selector import SizedSelector
from sparsepath.data.columns import standardise
from sparsepath.data.validation import check_features
from sparsepath.errors import InputError
from sparsepath.information.kraskov import (
    VARIANTS,
    Estimator,
    check_neighbors,
    target_rows,
)
from sparsepath.information.neighbors import choose_neighbors
from sparsepath.information.search import MI_SEARCHES, forward, forward_backward
from sparsepath.path.choosing import is_size
from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import Step
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads

SHUFFLES = 19  # of the target, against which the information of the chosen subset is held
# Standard deviations that it must be above their mean: of 200 problems of noise (2 to 10 columns,
# discrete or not, 60 to 600 rows) none was above.
ABOVE_SHUFFLED = 4.0

MI_METHODS = {"forward": "mi-forward", "forward-backward": "mi-forward-backward"}


@dataclass(eq=False, repr=False)
class MutualInfoSearch(SizedSelector):
    """Base class of searches by mutual information."""

    _: KW_ONLY
    search: str = "forward"
    n_neighbors: int | str = 6
    variant: int = 1
    n_restarts: int = 100
    random_state: Any = None
    n_threads: int | None = None
    _usual_steps: ClassVar[int | None] = None  # of a search that ends itself; None: all features

    def _search(
        self,
        given: Given,
        X: Any,
        YT: Floats,
        seed: int,
        judged: Callable[[Trail], Found],
        ended: Callable[[Trail], bool] = lambda trail: False,
    ) -> Self:
        """Search for the best subset of each size; ``judged`` makes a path of them.

        ``YT`` holds the targets as rows, from ``target_rows``; ``ended`` says whether the last
        sizes of a forward search gained nothing, so that it ends.
        """
        XT = standardise(X)[0]
        features = np.flatnonzero(np.ptp(XT, axis=1) > 0).tolist()
        most, n_restarts = self._check(len(features))
        random = np.random.default_rng(int(random_state(seed).randint(2**31 - 1)))
        trail = Trail()

        def found() -> Found | None:
            if not trail.steps:
                return None
            return replace(judged(trail), parameters={"n_neighbors": self.n_neighbors_})

        run = Run(
            self,
            given,
            X,
            method=MI_METHODS[self.search],
            found=found,
            subtasks=most if self.search == "forward" else n_restarts,
            seed=seed,
        )
        with Threads(self.n_threads) as threads, run:
            if isinstance(self.n_neighbors, str):
                k = choose_neighbors(XT, YT, threads, random).n_neighbors
            else:
                k = check_neighbors(self.n_neighbors, XT.shape[1])
            self.n_neighbors_ = k
            estimator = Estimator(XT, YT, k, self.variant, threads)
            trail.offer(Step((), 0.0, 0.0))

            def tell() -> bool:
                if self.search == "forward" and ended(trail):
                    trail.stopped = Stop.NO_GAIN
                    return True
                return run.tell(f"{len(trail.steps)} sizes")

            if self.search == "forward":
                forward(estimator, features, most, trail, tell)
            else:
                forward_backward(estimator, features, most, trail, tell, n_restarts, random)
        return run.settle()

    def expected_seconds(self, X: Any) -> float:
        """Estimate the CPU seconds of a search, without the folds of the honest error.

        Accurate to a factor of two to three.
        """
        n, d = X.shape
        steps = min(d, self.max_features or self._usual_steps or d)
        if self.search == "forward-backward":
            steps *= self.n_restarts
        each = 1e-9 * n**2 + 2e-5  # for a candidate: 60 ms for a step of 500 x 300
        return 0.07 + each * d * steps  # and the models

    def _check(self, usable: int) -> tuple[int, int]:
        one_of("search", self.search, MI_SEARCHES)
        if is_list(self.variant) or self.variant not in VARIANTS:
            raise InputError(f"variant={self.variant!r}; use 1 or 2.")
        if isinstance(self.n_neighbors, str) and self.n_neighbors != "resampling":
            raise InputError(
                f"n_neighbors={self.n_neighbors!r}; give a whole number or 'resampling'."
            )
        most = at_most("max_features", self.max_features, usable)
        return most, count("n_restarts", self.n_restarts, 0)


@dataclass(eq=False, repr=False)
class MutualInfoSelector(MutualInfoSearch):
    """Select features by their joint mutual information with the target (MI-FW, MI-FWBW).

    The estimator is that of Kraskov et al. (2004), for all features of the subset jointly. Repeated
    values are treated as by Gao et al. (2017), so numbers may have few distinct values. The
    selector is only a transformer: any estimator can follow it in a pipeline. The error of a subset
    on the path is minus its mutual information, in nats. With few samples the estimate decreases
    with the number of features, so it is better suited for comparing subsets of one size than for
    comparing sizes: evaluate the path with :meth:`sparsepath.SelectionPath.evaluate` before
    trusting a size. The search keeps the largest of many estimates, so it finds some information in
    noise too. Unless ``validation`` is None, the estimate at the chosen size is therefore compared
    with those of a forward search with shuffled y; if it is not higher, no feature is selected.

    Parameters
    ----------
    max_features : int or None, default=None
        The largest size on the path; None: all features.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Which size to use: the smallest within one standard error of the most informative, the most
        informative, a given size, or the smallest within a fraction of the most informative.
    search : {"forward", "forward-backward"}, default="forward"
        Add one feature at a time; or add and drop from random subsets.
    n_neighbors : int or "resampling", default=6
        Nearest neighbours. "resampling": the number that best separates features from themselves
        shuffled.
    variant : {1, 2}, default=1
        Variant of the estimator of Kraskov et al. (2004).
    discrete_target : bool, default=False
        Whether y contains class labels of any kind rather than numbers: two classes are equal or
        different, never near.
    n_restarts : int, default=100
        Random subsets to start from; for search="forward-backward".
    random_state : int, RandomState or None
        The seed of resampling and restarts.
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.
    validation : "auto" or None, default="auto"
        "auto": compare the chosen size with shuffled targets, which takes 19 searches up to that
        size. None: do not. There is no error on new data, since nothing is predicted.
    callback : callable, optional
        Called after every step or restart with the path so far; a true value stops the search, as
        Ctrl-C does.

    Attributes
    ----------
    path_ : SelectionPath
        Best subset and minus its mutual information for every size.
    n_neighbors_ : int
        The number of neighbours in use.
    shuffled_information_ : array
        The mutual information that the search reached with y shuffled, at the chosen size; empty if
        it was not compared.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    selected_ : array of int
        Selected columns.
    honest_ : Honest or None
        None: a selector without predictions has no honest error. ``MutualInfoRegressor`` has one.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sparsepath.data.synthetic import xor_like
    >>> problem = xor_like(400, random_state=0)
    >>> selector = MutualInfoSelector().fit(problem.X, problem.y)
    >>> sorted(selector.path_.subset(3)), selector.transform(problem.X).shape
    ([0, 1, 2], (400, 3))
    >>> labels = np.where(problem.X[:, 3] > 0.5, "high", "low")
    >>> selector = MutualInfoSelector(1, discrete_target=True).fit(problem.X, labels)
    >>> selector.path_.subset(1)
    (3,)
    """

    _: KW_ONLY
    discrete_target: bool = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.multi_output = True
        return tags

    @fitting
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Search for the path and choose a size.

        Parameters
        ----------
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Several targets are used jointly. With ``discrete_target``, one column of labels.
        """
        given, X = open_fit(self, X, y)
        YT = target_rows(y, X.shape[0], self.discrete_target)

        def judged(trail: Trail) -> Found:
            return Found.on(trail, criterion="minus mutual information")

        self.shuffled_information_ = np.empty(0)
        return self._search(given, X, YT, seed_of(self.random_state), judged)

    def _settle_on(self, path: SelectionPath, given: Given) -> int:
        """Return the size of the rule, or none if permuted targets reach the same information."""
        size = super()._settle_on(path, given)
        if not size or is_size(self.choose) or self.validation is None:
            return size
        XT = standardise(check_features(self, given.X, reset=False))[0]
        YT = target_rows(given.y, XT.shape[1], self.discrete_target)
        self.shuffled_information_ = self._shuffled(XT, YT, size)
        mean, spread = self.shuffled_information_.mean(), self.shuffled_information_.std(ddof=1)
        return size if -path.step(size).error > mean + ABOVE_SHUFFLED * spread else 0

    def _shuffled(self, XT: Floats, YT: Floats, size: int) -> Floats:
        """Return what a forward search up to a size finds with permuted targets."""
        random = np.random.default_rng(0)
        features = np.flatnonzero(np.ptp(XT, axis=1) > 0).tolist()
        found = []
        with Threads(self.n_threads) as threads:
            for _ in range(SHUFFLES):
                shuffled = np.ascontiguousarray(YT[:, random.permutation(YT.shape[1])])
                estimator = Estimator(XT, shuffled, self.n_neighbors_, self.variant, threads)
                trail = Trail()
                forward(estimator, features, size, trail, lambda: False)
                found.append(-trail.steps[size].error)
        return np.array(found)
