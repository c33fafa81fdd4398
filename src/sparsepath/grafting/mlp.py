"""Networks grown by grafting, as scikit-learn estimators."""

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from sparsepath.data.blocks import Floats
from sparsepath.data.door import check_features
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.grafting.criterion import Penalty
from sparsepath.grafting.design import Design
from sparsepath.grafting.faces import ClassifierFace, Factors, RegressorFace
from sparsepath.grafting.fitting import check_factors, check_penalties
from sparsepath.grafting.growing import L0_PER, Grown, Growth, grow
from sparsepath.grafting.procedure import INTERRUPTED, STOPS
from sparsepath.path import SelectionPath, Step

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _MLPGrafting(SelectorMixin, CallbackSupportMixin, BaseEstimator):
    """What both share: parameters, growth, the network."""

    def __init__(
        self,
        l1: float = 0.001,
        l2: float = 0.0,
        l0: float = 0.005,
        *,
        feature_costs: Factors = None,
        l1_factors: Factors = None,
        l2_factors: Factors = None,
        l0_per: str = "connection",
        max_hidden: int | None = 50,
        max_connections: int | None = 200,
        max_features: int | None = None,
        selection: str = "gradient",
        stop: str = "first",
        standardize: bool = True,
        tol: float | Sequence[float] = 1e-7,
        max_iter: int = 500,
        n_threads: int | None = None,
    ) -> None:
        self.l1 = l1
        self.l2 = l2
        self.l0 = l0
        self.feature_costs = feature_costs
        self.l1_factors = l1_factors
        self.l2_factors = l2_factors
        self.l0_per = l0_per
        self.max_hidden = max_hidden
        self.max_connections = max_connections
        self.max_features = max_features
        self.selection = selection
        self.stop = stop
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _growths(self) -> list[Growth]:
        for name, allowed in (
            ("l0_per", L0_PER),
            ("selection", ("gradient", "bound")),
            ("stop", STOPS),
        ):
            if getattr(self, name) not in allowed:
                given = getattr(self, name)
                raise InputError(f"{name}={given!r}; use one of {', '.join(allowed)}.")
        for name in ("max_hidden", "max_connections", "max_features", "max_iter"):
            size = getattr(self, name)
            if size is None and name != "max_iter":
                continue
            if isinstance(size, bool) or size != int(size) or size < 1:
                raise InputError(f"{name}={size!r}; give a whole number from 1 up.")
        tols = list(self.tol) if isinstance(self.tol, Sequence) else [self.tol]
        if not tols or not all(0 < tol < 1 for tol in tols):
            raise InputError(f"tol={self.tol!r}; give a number between 0 and 1, or several.")
        return [
            Growth(
                self.l0_per,
                self.selection,
                self.stop,
                self.max_hidden,
                self.max_connections,
                self.max_features,
                tol,
                self.max_iter,
            )
            for tol in tols
        ]

    def _penalty(self) -> Penalty:
        check_penalties(l1=self.l1, l2=self.l2, l0=self.l0)
        n, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        return Penalty.of(
            n,
            self.l1,
            self.l2,
            self.l0,
            l1_factors=check_factors(self.l1_factors, names, n, "l1_factors"),
            l2_factors=check_factors(self.l2_factors, names, n, "l2_factors"),
            costs=check_factors(self.feature_costs, names, n, "feature_costs"),
        )

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        X = check_features(self, X, reset=True)
        Y, weights, loss = self._targets(y, sample_weight, X.shape[0])
        growths, penalty = self._growths(), self._penalty()
        context = self._init_callback_context(max_subtasks=0)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        counted = weights > 0
        if not counted.all():
            X, Y, weights = X[counted], Y[counted], weights[counted]
        s = weights / weights.sum()
        Y = self._scaled(Y, s)
        with Threads(self.n_threads) as threads:
            design = Design(X, s, threads, standardize=self.standardize)
            runs: list[Grown] = []
            for growth in growths:
                runs.append(grow(design, Y, loss, penalty, growth))
                if runs[-1].stopped == INTERRUPTED:
                    break
        best = int(np.argmin([run.criterion for run in runs]))
        self.tol_ = growths[best].tol
        self._keep(runs[best], design)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _scaled(self, Y: Floats, s: Floats) -> Floats:
        return Y

    def _keep(self, grown: Grown, design: Design) -> None:
        parameters = self.get_params(deep=False)
        parameters.pop("n_threads")
        self.path_ = SelectionPath(
            [
                Step(order, error=criterion, train_error=loss)
                for order, _, criterion, loss in grown.networks.values()
            ],
            n_features=design.n,
            moves=grown.moves,
            feature_names=getattr(self, "feature_names_in_", None),
            criterion="grafting criterion",
            error_kind="training",
            method="mlp-grafting",
            parameters=parameters,
            data={"n_samples": design.m, "n_features": design.n},
            stopped=grown.stopped,
            complete=grown.stopped != INTERRUPTED,
        )
        self.history_ = grown.history
        self.n_iter_ = max(1, len(grown.history))
        self._networks = grown.networks
        self._all_means, self._all_scales = design.means, design.scales
        self._take(min(grown.networks, key=lambda size: grown.networks[size][2]))

    def _take(self, size: int) -> None:
        order, self.network_, self.criterion_, self.loss_ = self._networks[size]
        self.n_hidden_ = self.network_.n_hidden
        self.selected_ = np.array(order, dtype=np.intp)
        used = self.network_.used
        self._means, self._scales = self._all_means[used], self._all_scales[used]

    def at_size(self, size: int) -> Self:
        """A copy of this fitted estimator that uses the best network of another size.

        Parameters
        ----------
        size : int
            One of ``path_.sizes``.
        """
        check_is_fitted(self)
        self.path_.step(size)  # raises if there is none
        other = copy.copy(self)
        other._take(size)
        return other

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.selected_] = True
        return mask

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        part = X[:, self.network_.used]
        part = part if isinstance(part, np.ndarray) else part.toarray()
        Z = (part.astype(np.float64) - self._means) / self._scales
        return self.network_.outputs(Z)[:, None]

    def plot_network(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the network: which features feed which unit, and how strongly."""
        from sparsepath.grafting.network_plot import plot_network

        check_is_fitted(self)
        return plot_network(self.network_, self.path_.feature_names, ax=ax)


class MLPGraftingRegressor(RegressorFace, _MLPGrafting):
    """Regression by a network that grows connection by connection, with L0, L1 and L2 penalties.

    The target is brought to mean 0 and standard deviation 1 inside, since every hidden unit adds
    between -1 and +1; the criterion, its lambdas and ``criterion_`` are in those units.

    Parameters
    ----------
    l1, l2, l0 : float, default=0.001, 0, 0.005
        The lambdas of all connections from features to units; biases are not penalised.
    feature_costs, l1_factors, l2_factors : array or mapping of names to numbers, optional
        Their factors per feature.
    l0_per : {"connection", "feature"}, default="connection"
        What L0 counts. Per feature, as equation (6) of the paper, further connections of a
        feature in use are free, and growth may go on until a cap ends it.
    max_hidden, max_connections, max_features : int or None, default=50, 200, None
        Caps on the growth.
    selection : {"gradient", "bound"}, default="gradient"
        What chooses the next connection: the largest gradient, or the estimate (9).
    stop : {"first", "exhaust"}, default="first"
        What to do when a connection would raise the criterion.
    standardize : bool, default=True
        Scale the features inside.
    tol : float or list of float, default=1e-7
        Gradient at which an optimisation ends. Of several, the network of least criterion is
        kept. A loose tolerance (1e-3) loses units and features; tighter than 1e-7 gains nothing.
    max_iter : int, default=500
        Iterations of each optimisation.
    n_threads : int, optional
        Threads; None: one per core. It changes the speed only.

    Attributes
    ----------
    network_ : Network
        Connections (``units``, ``features``, ``weights``), ``biases``, ``output_bias``; weights
        are those of the standardised features.
    n_hidden_ : int
    path_ : SelectionPath
        The best network per number of features on the way, judged by the criterion itself.
    selected_ : array of int
        The columns in use, in order of entry.
    history_ : list of NetworkGraft
    criterion_, loss_ : float
        The criterion, L0 included, and its loss term.
    tol_ : float
        The tolerance of the network that was kept.

    Examples
    --------
    >>> from sparsepath.data.synthetic import friedman
    >>> problem = friedman(300, 10, noise=0.5, random_state=0)
    >>> model = MLPGraftingRegressor(l0=0.01).fit(problem.X, problem.y)
    >>> sorted(model.selected_.tolist())
    [0, 1, 3, 4]

    The third feature matters too, but as a parabola about its mean: it has no slope where a new
    connection starts, so the gradient test cannot see it.
    """

    loss = "squared"
    delta = 1.0

    def _scaled(self, Y: Floats, s: Floats) -> Floats:
        self._y_mean = float(s @ Y[:, 0])
        self._y_scale = float(np.sqrt(s @ (Y[:, 0] - self._y_mean) ** 2))
        return (Y - self._y_mean) / self._y_scale

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the network.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,)
            The target.
        sample_weight : array of shape (n_samples,), optional
            The loss term becomes the weighted mean.
        """
        return self._fit(X, y, sample_weight)

    def predict(self, X: Any) -> Floats:
        """Predicted targets."""
        return self._scores(X)[:, 0] * self._y_scale + self._y_mean


class MLPGraftingClassifier(ClassifierFace, _MLPGrafting):
    """Classification into two classes by a network that grows connection by connection.

    Parameters
    ----------
    l1, l2, l0, feature_costs, l1_factors, l2_factors, l0_per, max_hidden, max_connections
        As for ``MLPGraftingRegressor``.
    max_features, selection, stop, standardize, tol, max_iter, n_threads
        As for ``MLPGraftingRegressor``.
    class_weight : dict, "balanced" or None
        Factors of the sample weights, as for ``GraftingClassifier``.

    Attributes
    ----------
    classes_ : array
        The two class labels.
    network_, n_hidden_, path_, selected_, history_, criterion_, loss_, tol_
        As for ``MLPGraftingRegressor``.

    Examples
    --------
    >>> from sparsepath.data.synthetic import threshold_max
    >>> problem = threshold_max(600, 4, 0, 6, random_state=0)
    >>> model = MLPGraftingClassifier(l1=1e-6).fit(problem.X, problem.y)
    >>> sorted(model.selected_.tolist())
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        l1: float = 0.001,
        l2: float = 0.0,
        l0: float = 0.005,
        *,
        feature_costs: Factors = None,
        l1_factors: Factors = None,
        l2_factors: Factors = None,
        class_weight: Any = None,
        l0_per: str = "connection",
        max_hidden: int | None = 50,
        max_connections: int | None = 200,
        max_features: int | None = None,
        selection: str = "gradient",
        stop: str = "first",
        standardize: bool = True,
        tol: float | Sequence[float] = 1e-7,
        max_iter: int = 500,
        n_threads: int | None = None,
    ) -> None:
        super().__init__(
            l1,
            l2,
            l0,
            feature_costs=feature_costs,
            l1_factors=l1_factors,
            l2_factors=l2_factors,
            l0_per=l0_per,
            max_hidden=max_hidden,
            max_connections=max_connections,
            max_features=max_features,
            selection=selection,
            stop=stop,
            standardize=standardize,
            tol=tol,
            max_iter=max_iter,
            n_threads=n_threads,
        )
        self.class_weight = class_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the network.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,)
            Labels of two classes.
        sample_weight : array of shape (n_samples,), optional
            The loss term becomes the weighted mean.
        """
        return self._fit(X, y, sample_weight)

    def _targets(self, y: Any, sample_weight: Any, m: int) -> Any:
        Y, weights, loss = super()._targets(y, sample_weight, m)
        if Y.shape[1] > 1:
            raise InputError(
                "Only binary classification is supported. The type of the target is multiclass; "
                "use OneVsRestClassifier around this estimator, or GraftingClassifier."
            )
        return Y, weights, loss
