"""Selection by mutual information as a scikit-learn transformer."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from sparsepath.arrays import Floats
from sparsepath.data.columns import standardise
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.faces.parameters import at_most, count, one_of
from sparsepath.information.kraskov import (
    VARIANTS,
    Estimator,
    check_neighbors,
    target_rows,
)
from sparsepath.information.neighbors import choose_neighbors
from sparsepath.information.search import MI_SEARCHES, forward, forward_backward
from sparsepath.running import Found, Given, Run, Trail, fitting, opened, seed_of
from sparsepath.selector import SizedSelector
from sparsepath.steps import Step

MI_METHODS = {"forward": "mi-forward", "forward-backward": "mi-forward-backward"}


@dataclass(eq=False, repr=False)
class MutualInfoSearch(SizedSelector):
    """The search that is guided by mutual information, whatever is made of its subsets."""

    _: KW_ONLY
    search: str = "forward"
    n_neighbors: int | str = 6
    variant: int = 1
    n_restarts: int = 100
    random_state: Any = None
    n_threads: int | None = None

    def _search(
        self, given: Given, X: Any, YT: Floats, seed: int, judged: Callable[[Trail], Found]
    ) -> Self:
        """Search for the best subset of each size; ``judged`` makes a path of them.

        ``YT`` holds the targets as rows, from ``target_rows``.
        """
        XT = standardise(X)[0]
        features = np.flatnonzero(np.ptp(XT, axis=1) > 0).tolist()
        most, n_restarts = self._check(len(features))
        random = np.random.default_rng(int(check_random_state(seed).randint(2**31 - 1)))
        trail = Trail()

        def found() -> Found | None:
            if len(trail.steps) < 2 and most:
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
                return run.tell(f"{len(trail.steps)} sizes")

            if self.search == "forward":
                forward(estimator, features, most, trail, tell)
            else:
                forward_backward(estimator, features, most, trail, tell, n_restarts, random)
        return run.settle()

    def _check(self, usable: int) -> tuple[int, int]:
        one_of("search", self.search, MI_SEARCHES)
        if self.variant not in VARIANTS:
            raise InputError(f"variant={self.variant!r}; use 1 or 2.")
        if isinstance(self.n_neighbors, str) and self.n_neighbors != "resampling":
            raise InputError(
                f"n_neighbors={self.n_neighbors!r}; give a whole number or 'resampling'."
            )
        most = at_most("max_features", self.max_features, usable)
        return most, count("n_restarts", self.n_restarts, 0)


@dataclass(eq=False, repr=False)
class MutualInfoSelector(MutualInfoSearch):
    """Choose features by their joint mutual information with the target (MI-FW, MI-FWBW).

    Mutual information is that of Kraskov et al. (2004), of all features of the subset together;
    repeated values are counted as Gao et al. (2017) do, so numbers may have few distinct values. It
    is a transformer only: any estimator may follow it in a pipeline. The error of a subset on the
    path is minus its mutual information, in nats. The estimate falls with the number of features
    when samples are few, so it orders subsets of one size better than sizes: score the path with
    :meth:`sparsepath.SelectionPath.evaluate` before trusting a size.

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
        Of the estimator. "resampling": the number that best tells the features from themselves
        shuffled.
    variant : {1, 2}, default=1
        Of the estimator.
    discrete_target : bool, default=False
        Whether y holds classes, labels of any kind, and not numbers: classes are different or the
        same, never near.
    n_restarts : int, default=100
        Random subsets to start from; for search="forward-backward".
    random_state : int, RandomState or None
        The seed of resampling and restarts.
    n_threads : int, optional
        Threads; None: one per core. It changes the speed only.
    validation
        As for ``SparseRLSRegressor``.
    callback : callable, optional
        Called after every step or restart with the path so far; a true value stops the search, as
        Ctrl-C does.

    Attributes
    ----------
    path_ : SelectionPath
        Best subset and minus its mutual information for every size.
    n_neighbors_ : int
        The number of neighbours in use.

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
        """Search for the path and settle on a size.

        Parameters
        ----------
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Several targets are taken together. With ``discrete_target`` the labels of one.
        """
        given, X = opened(self, X, y)
        YT = target_rows(y, X.shape[0], self.discrete_target)

        def judged(trail: Trail) -> Found:
            return Found.on(trail, criterion="minus mutual information")

        return self._search(given, X, YT, seed_of(self.random_state), judged)
