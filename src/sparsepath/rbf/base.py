"""Base class of RBF network estimators: fitted attributes, importances, targets."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sparsepath.base import seed_of
from sparsepath.base.parameters import count, one_of, positive
from sparsepath.base.selector import SearchingSelector
from sparsepath.base.targets import PathClassifierMixin, PathRegressorMixin, dense, one_target
from sparsepath.data.classes import encode_targets
from sparsepath.data.validation import check_features, check_labels
from sparsepath.errors import InputError, warn_user
from sparsepath.rbf.model import RBFOptions, Training
from sparsepath.system.arrays import Axes, Floats

SOLVERS = ("direct", "alternating")
SCHEDULES = ("robust", "paper")


class _SparseRBF(SearchingSelector, RBFOptions):
    """Base class of single fits and of the search over budgets."""

    cv_results_: dict[str, Any]  # of a search
    rs_: Floats
    ts_: Floats
    _of_size: dict[int, tuple[tuple[float, float], Training]]

    def _options(self) -> RBFOptions:
        if one_of("schedule", self.schedule, SCHEDULES) == "paper":
            warn_user(
                "schedule='paper' is now 'robust', whose solutions are no worse; the parameter "
                "will be removed in version 1.0.",
                FutureWarning,
            )
        relevance = self.relevance
        if not isinstance(relevance, int | float | np.number) or not 0 <= relevance < 1:
            raise InputError(f"relevance={relevance!r}; give a number from 0 up to 1.")
        return RBFOptions(
            solver=one_of("solver", self.solver, SOLVERS),
            centres=self.centres,
            placing=self.placing,
            n_init=count("n_init", self.n_init),
            mu_min=positive("mu_min", self.mu_min),
            max_iter=count("max_iter", self.max_iter),
            relevance=float(relevance),
            random_state=seed_of(self.random_state),
        )

    def _take(self, size: int) -> None:
        super()._take(size)
        (self.r_, self.t_), training = self._of_size[size]
        model, solution = training.model, training.solution
        self.selected_centres_ = model.kept
        self.centres_ = model.centres
        self.coef_, self.intercept_ = model.coef, model.intercept
        weights = np.zeros(self.n_features_in_)
        weights[model.columns] = model.relative
        self.feature_weights_ = weights
        total = weights.sum()
        self.feature_importances_ = weights / total if total > 0 else weights
        self.training_error_ = solution.error
        self.objective_ = solution.J
        self.duality_gap_ = solution.gap
        self.converged_ = solution.converged
        self.n_iter_ = solution.iterations
        self.stages_ = solution.stages
        self.solution_ = solution

    def _target(self, y: Any, n_samples: int, weights: Floats | None) -> Floats:
        """Return the numbers to fit; a classifier encodes its classes."""
        raise NotImplementedError

    def _known(self, y: Any, n_samples: int) -> Floats:
        """Return the numbers for a fitted estimator with known classes."""
        raise NotImplementedError

    def permutation_importances(
        self, X: Any, y: ArrayLike, *, n_repeats: int = 10, random_state: int = 0
    ) -> Floats:
        """Return the increase of the mean squared error when a column is permuted, for every
        column.

        Parameters
        ----------
        X : array or data frame
            Samples, preferably not used in the fit.
        y : array
            Targets.
        n_repeats : int
            Number of permutations per column.
        random_state : int, RandomState or None
            Random seed.
        """
        check_is_fitted(self)
        X = dense(check_features(self, X, reset=False))
        y = self._known(y, len(X))
        model = self.models_[len(self.selected_)]
        base = float(np.mean((y - model.predict(X)) ** 2))
        rng = np.random.default_rng(random_state)
        orders = [rng.permutation(len(X)) for _ in range(n_repeats)]
        out = np.zeros(self.n_features_in_)
        for i in self.selected_:
            shuffled = X.copy()
            for order in orders:
                shuffled[:, i] = X[order, i]
                out[i] += float(np.mean((y - model.predict(shuffled)) ** 2)) - base
        return out / n_repeats

    def plot_weights(self, ax: Axes | None = None) -> Axes:
        """Draw the weights of the inputs as fractions of their sum (Figures 3 and 6 of the paper).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on.
        """
        from sparsepath.rbf.plots import plot_weights

        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return plot_weights(self.feature_importances_, names, ax=ax)


class _Regression(PathRegressorMixin):
    """Mixin for numeric targets."""

    def _target(self, y: Any, n_samples: int, weights: Floats | None) -> Floats:
        return self._numbers(y, n_samples, weights)[:, 0]

    def _known(self, y: Any, n_samples: int) -> Floats:
        return one_target(y, n_samples)[:, 0]


class _TwoClasses(PathClassifierMixin):
    """Two classes, as the targets -1 and +1."""

    _metric = "squared"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _target(self, y: Any, n_samples: int, weights: Floats | None) -> Floats:
        codes = self._codes(y, n_samples, weights)
        if len(self.classes_) > 2:
            raise InputError(
                f"Only binary classification is supported. y has {len(self.classes_)} classes, and "
                "every class would select its own inputs; "
                "sklearn.multiclass.OneVsRestClassifier fits one network for each."
            )
        return encode_targets(codes, 2)[:, 0]

    def _known(self, y: Any, n_samples: int) -> Floats:
        labels = check_labels(y, n_samples)
        unknown = np.setdiff1d(labels, self.classes_).tolist()
        if unknown:
            raise InputError(f"y has the class {unknown[0]!r}, which the fit did not have.")
        return np.where(labels == self.classes_[1], 1.0, -1.0)
